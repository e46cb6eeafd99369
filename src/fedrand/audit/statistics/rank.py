"""AUROC by ranks (Mann and Whitney, 1947): O(n log n), exact counts, so 100,000 items a side fit."""

from collections.abc import Sequence

import numpy as np

from fedrand.audit.statistics.sample import Sample, Values, usable


def placements(members: Values, others: Values) -> tuple[Values, Values]:
    """Of each member the share of non-members below it, [members]; of each non-member the share of members above it,
    [others]; a tie counts half. DeLong's structural components, by sorting (Sun and Xu, 2014). Both means are the
    AUROC."""
    return _below(members, others) / (2 * len(others)), 1 - _below(others, members) / (2 * len(members))


def wins(members: Values, others: Values) -> float:
    """The number of (member, non-member) pairs in which the member scores higher; a tie counts half."""
    return int(_below(members, others).sum()) / 2


def auroc(members: Values, others: Values) -> float:
    """The share of pairs in which the member scores higher; ValueError when a side is empty."""
    if not len(members) or not len(others):
        raise ValueError(f"AUROC needs members and non-members, there are {len(members)} and {len(others)}")
    return wins(members, others) / (len(members) * len(others))


def pooled(samples: Sequence[Sample]) -> float:
    """The share of won pairs over all units together; no pair crosses units."""
    used = usable(samples)
    won = sum(wins(sample.members, sample.others) for sample in used)
    return won / sum(len(sample.members) * len(sample.others) for sample in used)


def _below(scores: Values, reference: Values) -> np.ndarray:
    """Twice the number of reference scores below each score, ties half: whole numbers."""
    ordered = np.sort(np.asarray(reference, np.float64))
    scores = np.asarray(scores, np.float64)
    return np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")
