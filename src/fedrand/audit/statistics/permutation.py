"""The control that needs no theory: who is a member is drawn anew, clusters whole, units apart (Fisher, 1935)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedrand.audit.statistics.rank import placements, pooled
from fedrand.audit.statistics.replicates import portions
from fedrand.audit.statistics.sample import Sample, Values, usable


class Permuted(NamedTuple):
    """The observed AUROC, the central `level` of those with permuted labels, and the chance of one as far from a coin."""

    auroc: float
    low: float
    high: float
    p: float


def permuted(
    samples: Sequence[Sample], rng: np.random.Generator, resamples: int = 1000, level: float = 0.95
) -> Permuted:
    """Two-sided; p is never 0, for the observed labels count as one permutation (Phipson and Smyth, 2010).

    ValueError when no unit has both sides, or a group stands on both sides: it cannot change sides whole.
    """
    used = usable(samples)
    won, pairs = np.zeros(resamples), np.zeros(resamples)
    for sample in used:
        unit_won, unit_pairs = _permuted(sample, rng, resamples)
        won, pairs = won + unit_won, pairs + unit_pairs
    observed, drawn = pooled(used), won / pairs
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail))
    as_far = int((np.abs(drawn - 0.5) >= abs(observed - 0.5) - 1e-12).sum())
    return Permuted(observed, float(low), float(high), (1 + as_far) / (1 + resamples))


def _permuted(sample: Sample, rng: np.random.Generator, resamples: int) -> tuple[Values, Values]:
    """Won pairs and pairs of one unit in each permutation, [resamples] each: ranks stay, labels move."""
    both = set(sample.member_groups) & set(sample.other_groups)
    if both:
        raise ValueError(f"{len(both)} groups hold members and non-members; labels of a whole group cannot be permuted")
    scores = np.concatenate([sample.members, sample.others])
    groups = np.concatenate([np.asarray(sample.member_groups), np.asarray(sample.other_groups)])
    names, index = np.unique(groups, return_inverse=True)
    ranks = placements(scores, scores)[0] * len(scores) + 0.5
    sums, sizes = np.bincount(index, ranks), np.bincount(index).astype(float)
    inside, won, pairs = np.arange(len(names)) < len(set(sample.member_groups)), [], []
    for some in portions(resamples, len(names)):
        labels = rng.permuted(np.tile(inside, (some, 1)), axis=1).astype(float)
        members = labels @ sizes
        won.append(labels @ sums - members * (members + 1) / 2)
        pairs.append(members * (len(scores) - members))
    return np.concatenate(won), np.concatenate(pairs)
