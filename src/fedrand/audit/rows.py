"""One attack on one model as a line of audit.json: its figures, and how they stand to the controls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fedrand.audit.controls import confounded
from fedrand.audit.statistics import (
    Family,
    Sample,
    auroc,
    delong,
    detectable,
    equivalent,
    pooled,
    tpr,
    two_level_difference,
    two_level_interval,
)
from fedrand.data.example import Example

FPRS = (0.001, 0.01, 0.05)
FEW = 200  # resamples of a rate that is no headline

Score = Callable[[str, Example], float]
"""An attack's score of a unit's example."""
Samples = Mapping[str, Sample]
Groups = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""unit -> the group of each member, and of each of the others."""


class Sides(NamedTuple):
    """Members and non-members of one unit."""

    members: tuple[Example, ...]
    others: tuple[Example, ...]


class Settings(NamedTuple):
    resamples: int
    level: float


@dataclass(frozen=True)
class Row:
    """threat, model, attack, slice: which; samples: by unit; plain: the base model's on the same items, where it has a
    score of its own; reason: why the attack does not apply, empty where it does; more: what else its line tells."""

    threat: str
    model: str
    attack: str
    slice: str
    samples: Samples = field(default_factory=dict[str, Sample])
    plain: Samples | None = None
    reason: str = ""
    headline: bool = False
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        return "|".join((self.threat, self.model, self.attack, self.slice))

    @property
    def applies(self) -> bool:
        return not self.hindrance

    @property
    def hindrance(self) -> str:
        """Why there is no figure."""
        if self.reason or any(sample.usable for sample in self.samples.values()):
            return self.reason
        return "no client has both members and non-members"


def sampled(units: Mapping[str, Sides], score: Score, groups: Groups | None = None) -> dict[str, Sample]:
    """The scores of every unit that has both sides. groups: of these units, where many rows share them."""

    def scores(name: str, examples: Sequence[Example]) -> np.ndarray:
        return np.fromiter((score(name, example) for example in examples), float, len(examples))

    return {
        name: Sample(scores(name, units[name].members), members, scores(name, units[name].others), others)
        for name, (members, others) in (groups or grouped(units)).items()
    }


def parted(units: Mapping[str, Sides], scores: Mapping[str, np.ndarray]) -> dict[str, Sample]:
    """As `sampled`, from each unit's scores of its members, then of its others; what follows them is left out."""
    found: dict[str, Sample] = {}
    for name, (members, others) in grouped(units).items():
        first, last = len(members), len(members) + len(others)
        found[name] = Sample(scores[name][:first], members, scores[name][first:last], others)
    return found


def grouped(units: Mapping[str, Sides]) -> Groups:
    """The groups of both sides of every unit that has both."""
    return {
        name: ([e.unit for e in sides.members], [e.unit for e in sides.others])
        for name, sides in units.items()
        if sides.members and sides.others
    }


def line(row: Row, blind: Samples | None, family: Family | None, rng: np.random.Generator, how: Settings) -> dict:
    """What audit.json tells of a row. blind: the stronger blind control on the same units, where there is one; family:
    intervals that hold for all rows of the protocol together."""
    where = {"threat": row.threat, "model": row.model, "attack": row.attack, "slice": row.slice}
    where |= {"headline": row.headline, **row.more}
    if not row.applies:
        return {**where, "applies": False, "reason": row.hindrance}
    samples = list(row.samples.values())
    adjusted = family.intervals.get(row.name) if family else None
    return {
        **where,
        "applies": True,
        "reason": "",
        **two_level_interval(samples, how.level)._asdict(),
        "level": how.level,
        "adjusted": list(adjusted[1:]) if adjusted else None,
        "fixed": _given(samples, how.level),
        "equivalence": equivalent(samples, level=how.level)._asdict(),
        "detectable": detectable(samples, how.level),
        "adjusted_detectable": detectable(samples, family.single) if family and adjusted else None,
        "tpr": _rates(samples, rng, how._replace(resamples=how.resamples if row.headline else min(FEW, how.resamples))),
        "n_members": sum(len(sample.members) for sample in samples),
        "n_nonmembers": sum(len(sample.others) for sample in samples),
        "per_client": {name: auroc(sample.members, sample.others) for name, sample in row.samples.items()},
        "base_auroc": pooled(list(row.plain.values())) if row.plain else None,
        "over_base": _over(row.samples, row.plain, how),
        **_blinded(row.samples, blind, how, family.single if family and adjusted else how.level),
    }


def _rates(samples: Sequence[Sample], rng: np.random.Generator, how: Settings) -> dict[str, dict]:
    return {str(fpr): tpr(samples, fpr, rng, how.resamples, how.level)._asdict() for fpr in FPRS}


def _given(samples: Sequence[Sample], level: float) -> dict[str, float]:
    """DeLong's: these clients' models are given, only the items vary."""
    found = delong(samples, level)._asdict()
    return {name: found[name] for name in ("low", "high", "p")}


def _over(samples: Samples, other: Samples | None, how: Settings) -> dict[str, float] | None:
    """The paired difference of two scores of the same items."""
    if not other or other.keys() != samples.keys():
        return None
    found = two_level_difference(list(samples.values()), [other[name] for name in samples], how.level)
    return {"value": found.value, "low": found.low, "high": found.high}


def _blinded(samples: Samples, blind: Samples | None, how: Settings, single: float) -> dict[str, Any]:
    """single: the level of the difference, with which it holds for all rows of the family together."""
    if not blind or not samples.keys() <= blind.keys():
        return {"confounded": False, "over_blind": None}
    same = {name: blind[name] for name in samples}
    flagged = confounded(two_level_interval(list(same.values()), how.level))
    return {"confounded": flagged, "over_blind": _over(samples, same, how._replace(level=single))}
