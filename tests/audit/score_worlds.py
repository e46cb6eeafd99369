"""Scores whose AUROC is known: clients with members and non-members in groups of two and three that resemble."""

from functools import cache

import numpy as np
from scipy.stats import norm

from fedrand.audit.statistics import Sample

ALIKE = 0.5
"""The share of a score's variance that its group has in common."""


@cache
def groups(count: int, tag: str) -> list[str]:
    return [f"{tag}{group}" for group in np.repeat(np.arange(count), np.resize([2, 3], count))[:count]]


def scores(rng: np.random.Generator, count: int, shift: float = 0.0) -> np.ndarray:
    group = np.repeat(np.arange(count), np.resize([2, 3], count))[:count]
    shared = rng.normal(size=group[-1] + 1)[group]
    return shift + np.sqrt(ALIKE) * shared + np.sqrt(1 - ALIKE) * rng.normal(size=count)


def shift_of(auroc: float) -> float:
    """Scores N(shift, 1) against N(0, 1) have this AUROC."""
    return float(np.sqrt(2) * norm.ppf(auroc))


def client(rng: np.random.Generator, auroc: float, count: int = 65) -> Sample:
    members, others = scores(rng, count, shift_of(auroc)), scores(rng, count)
    return Sample(members, groups(count, "m"), others, groups(count, "o"))


def clients(rng: np.random.Generator, auroc: float, spread: float = 0.0, count: int = 12) -> list[Sample]:
    """Clients whose true AUROCs are normal about `auroc` with standard deviation `spread`."""
    return [client(rng, float(np.clip(rng.normal(auroc, spread), 0.01, 0.99))) for _ in range(count)]


def lone(members, others) -> Sample:
    """Every item in a group of its own."""
    return Sample(
        np.array(members, float),
        [f"m{i}" for i in range(len(members))],
        np.array(others, float),
        [f"o{i}" for i in range(len(others))],
    )
