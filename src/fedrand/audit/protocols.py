"""Who is compared with whom: P1, a client with its own held-out half; P0, the paper's way, with a domain shift."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedrand.audit.statistics import Sample, auroc, pooled, two_level_interval
from fedrand.data.example import Example

BANNER = (
    "Members are compared with images of kinds that no client holds, as in the paper. Such an AUROC measures "
    "the domain shift as well as membership; the base model, trained on neither side, shows how much of it is shift."
)


class Sides(NamedTuple):
    """Members and non-members of one unit."""

    members: tuple[Example, ...]
    others: tuple[Example, ...]


Score = Callable[[str, Example], float]
"""An attack's score of a unit's example."""


class Settings(NamedTuple):
    resamples: int
    level: float


def row(units: Mapping[str, Sides], score: Score, base: Score | None, rng: np.random.Generator, how: Settings) -> dict:
    """The figures of one attack: pooled AUROC with its interval, each unit's own, and the base model's."""
    samples = {name: _sample(name, sides, score) for name, sides in units.items()}
    usable = {name: sample for name, sample in samples.items() if sample.usable}
    if not usable:
        return {"applies": False, "reason": "no client has both members and non-members"}
    found = two_level_interval(list(usable.values()), how.level)
    figures: dict[str, Any] = {**found._asdict(), "level": how.level, "applies": True, "reason": ""}
    figures["n_members"] = sum(len(sample.members) for sample in usable.values())
    figures["n_nonmembers"] = sum(len(sample.others) for sample in usable.values())
    figures["per_client"] = {name: auroc(sample.members, sample.others) for name, sample in usable.items()}
    if base is not None:
        plain = [_sample(name, units[name], base) for name in usable]
        figures["base_auroc"] = pooled(plain)
    return figures


def dealt(
    examples: Sequence[Example], units: Sequence[str], rng: np.random.Generator
) -> dict[str, tuple[Example, ...]]:
    """The examples shared out by whole groups, about equally many each: were all units compared with the same ones, an
    interval that draws them anew for each unit would be too narrow."""
    groups = sorted({example.unit for example in examples})
    owner = {groups[place]: units[turn % len(units)] for turn, place in enumerate(rng.permutation(len(groups)))}
    return {name: tuple(e for e in examples if owner[e.unit] == name) for name in units}


def _sample(name: str, sides: Sides, score: Score) -> Sample:
    return Sample(*_scores(name, sides.members, score), *_scores(name, sides.others, score))


def _scores(name: str, examples: Sequence[Example], score: Score) -> tuple[np.ndarray, list[str]]:
    return np.array([score(name, example) for example in examples], float), [example.unit for example in examples]
