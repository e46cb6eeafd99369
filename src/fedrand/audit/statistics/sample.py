"""What statistics take and give: one unit's scores, an AUROC with its interval, a difference with its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


class Interval(NamedTuple):
    """An AUROC with its confidence interval."""

    auroc: float
    low: float
    high: float


class Difference(NamedTuple):
    """A difference of two AUROCs on the same items, its confidence interval and its two-sided p value."""

    value: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Sample:
    """One unit's scores (higher = member) and the group of each item: variants of one thing are one cluster.

    A unit is what members are compared within: a client has its own data, perhaps its own model.
    """

    members: Values
    member_groups: Sequence[str]
    others: Values
    other_groups: Sequence[str]

    def __post_init__(self) -> None:
        for scores, groups in ((self.members, self.member_groups), (self.others, self.other_groups)):
            if np.isnan(scores).any():
                raise ValueError("a score is NaN; an attack must give a number for every item")
            if len(scores) != len(groups):
                raise ValueError(f"{len(scores)} scores but {len(groups)} groups")

    @property
    def usable(self) -> bool:
        return len(self.members) > 0 and len(self.others) > 0


def usable(samples: Sequence[Sample]) -> list[Sample]:
    """The units that have both sides; ValueError when there is none."""
    used = [sample for sample in samples if sample.usable]
    if not used:
        raise ValueError("no unit has both members and non-members")
    return used


def same_items(first: Sequence[Sample], second: Sequence[Sample]) -> None:
    """ValueError unless both hold scores of the same items in the same order, as far as groups can tell."""
    for one, other in zip(first, second, strict=True):
        if [*one.member_groups] != [*other.member_groups] or [*one.other_groups] != [*other.other_groups]:
            raise ValueError("the two scores are of different items; compare them on the same units and groups")
