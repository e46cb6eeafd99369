"""How well scores tell members from non-members, and how sure that is.

Members are only ever compared with non-members of the same unit (a client has its own data, perhaps its own model).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


class Interval(NamedTuple):
    """An AUROC with its percentile bootstrap interval."""

    auroc: float
    low: float
    high: float


@dataclass(frozen=True)
class Sample:
    """One unit's scores (higher = member) and the group of each item: variants of one thing are one cluster."""

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


def wins(members: Values, others: Values) -> Values:
    """[members, others]: 1 where the member scores higher, 1/2 at a tie, else 0."""
    return np.greater.outer(members, others) + 0.5 * np.equal.outer(members, others)


def auroc(members: Values, others: Values) -> float:
    """The share of (member, non-member) pairs in which the member scores higher; a tie counts half (Mann-Whitney)."""
    if not len(members) or not len(others):
        raise ValueError(f"AUROC needs members and non-members, there are {len(members)} and {len(others)}")
    return float(wins(np.asarray(members, np.float64), np.asarray(others, np.float64)).mean())


def pooled(samples: Sequence[Sample]) -> float:
    """The share of won pairs over all units together; no pair crosses units."""
    used = [sample for sample in samples if sample.usable]
    if not used:
        raise ValueError("no unit has both members and non-members")
    won = sum(float(wins(sample.members, sample.others).sum()) for sample in used)
    return won / sum(len(sample.members) * len(sample.others) for sample in used)


def two_level_bootstrap(
    samples: Sequence[Sample], rng: np.random.Generator, resamples: int = 1000, level: float = 0.95
) -> Interval:
    """`pooled` with a percentile interval: units drawn anew, and within each its groups, members and others apart.

    Drawing at both levels counts the spread within units twice: where units are alike the interval is too wide (up to
    1.4 times), never too narrow; it claims a leak too seldom rather than too often.
    """
    used = [sample for sample in samples if sample.usable]
    estimate = pooled(used)
    picks = rng.multinomial(len(used), np.full(len(used), 1 / len(used)), size=resamples)  # [resamples, units]
    won, pairs = np.zeros(resamples), np.zeros(resamples)
    for sample, times in zip(used, picks.T, strict=True):
        unit_won, unit_pairs = _resampled(sample, rng, resamples)
        won += times * unit_won
        pairs += times * unit_pairs
    tail = (1 - level) / 2
    low, high = np.quantile(won / pairs, (tail, 1 - tail))
    return Interval(estimate, float(low), float(high))


def _resampled(sample: Sample, rng: np.random.Generator, resamples: int) -> tuple[Values, Values]:
    """Won pairs and pairs of one unit in each resample, [resamples] each."""
    rows, row_sizes = _clusters(sample.member_groups)
    columns, column_sizes = _clusters(sample.other_groups)
    table = rows.T @ wins(sample.members, sample.others) @ columns  # [member groups, other groups]
    left, right = _times(len(row_sizes), rng, resamples), _times(len(column_sizes), rng, resamples)
    return ((left @ table) * right).sum(1), (left @ row_sizes) * (right @ column_sizes)


def _times(count: int, rng: np.random.Generator, resamples: int) -> Values:
    return rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(np.float64)


def _clusters(groups: Sequence[str]) -> tuple[Values, Values]:
    """Items by groups as 0/1, and the groups' sizes."""
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    belongs = np.zeros((len(groups), len(names)))
    belongs[np.arange(len(groups)), index] = 1.0
    return belongs, belongs.sum(0)
