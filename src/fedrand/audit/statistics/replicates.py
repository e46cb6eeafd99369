"""True-positive rates at given false-positive rates, and replicates of them with units or clusters drawn anew.

All units share one threshold, the adversary's; each replicate finds its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrand.audit.statistics.sample import Sample, Values

Rng = np.random.Generator
AT_ONCE = 4_000_000
"""Weights held in memory at a time."""

ROUNDING = 1e-9
"""Of fpr * n: 0.01 * 1000 must allow 10 false positives, not 9."""


@dataclass(frozen=True)
class Side:
    """Members or non-members of all units, highest score first, with the unit and the cluster of each."""

    scores: Values
    units: NDArray[np.intp]
    clusters: NDArray[np.intp]
    cluster_units: NDArray[np.intp]

    def by_units(self, chosen: Values) -> Values:
        """chosen: how often each unit was drawn, [replicates, units]."""
        return chosen[:, self.units]

    def by_clusters(self, rng: Rng, times: int) -> Values:
        """Within each unit as many clusters as it has, drawn with replacement."""
        sizes = np.bincount(self.cluster_units)
        starts = np.cumsum(sizes) - sizes
        count = len(self.cluster_units)
        picks = (rng.random((times, count)) * sizes[self.cluster_units]).astype(np.intp) + starts[self.cluster_units]
        picks += count * np.arange(times)[:, None]
        drawn = np.bincount(picks.ravel(), minlength=times * count).reshape(times, count)
        return drawn[:, self.clusters].astype(np.float64)


def sides(samples: Sequence[Sample]) -> tuple[Side, Side]:
    """Members and non-members of usable samples."""
    return (
        _side([sample.members for sample in samples], [sample.member_groups for sample in samples]),
        _side([sample.others for sample in samples], [sample.other_groups for sample in samples]),
    )


def _side(scores: Sequence[Values], groups: Sequence[Sequence[str]]) -> Side:
    units = np.repeat(np.arange(len(scores)), [len(one) for one in scores])
    indices, owners, offset = [], [], 0
    for number, names in enumerate(groups):
        unique, index = np.unique(np.asarray(names), return_inverse=True)
        indices.append(index + offset)
        owners.append(np.full(len(unique), number))
        offset += len(unique)
    together = np.concatenate(scores)
    order = np.argsort(-together, kind="stable")
    return Side(together[order], units[order], np.concatenate(indices)[order], np.concatenate(owners))


def observed(members: Side, others: Side, fprs: Values) -> Values:
    """The true-positive rate at each false-positive rate, [fprs]."""
    return rates(members, others, np.ones((1, len(members.scores))), np.ones((1, len(others.scores))), fprs)[0]


def rates(members: Side, others: Side, of_members: Values, of_others: Values, fprs: Values) -> Values:
    """[replicates, fprs]: the share of members above the lowest threshold that lets at most a share fpr of the
    non-members above it. Weights [replicates, items]."""
    above = np.searchsorted(-members.scores, -others.scores, "left")  # members strictly above each non-member
    caught = np.concatenate([np.zeros((len(of_members), 1)), np.cumsum(of_members, 1)], 1)
    passed = np.cumsum(of_others, 1)
    found = np.empty((len(of_members), len(fprs)))
    for row, (got, let) in enumerate(zip(caught, passed, strict=True)):
        threshold = np.searchsorted(
            let, fprs * let[-1] + ROUNDING, "right"
        )  # the first non-member that is one too many
        found[row] = got[above[np.minimum(threshold, len(above) - 1)]] / got[-1]
    return found


def by_clusters(members: Side, others: Side, fprs: Values, rng: Rng, times: int) -> Values:
    """Replicates with the units as they are and their clusters drawn anew, [times, fprs]."""
    parts = [
        rates(members, others, members.by_clusters(rng, some), others.by_clusters(rng, some), fprs)
        for some in portions(times, len(members.scores) + len(others.scores))
    ]
    return np.concatenate(parts)


def by_units(members: Side, others: Side, fprs: Values, rng: Rng, times: int, units: int) -> Values:
    """Replicates with the units drawn anew, each with its items as they are, [times, fprs]."""
    parts = []
    for some in portions(times, len(members.scores) + len(others.scores)):
        chosen = rng.multinomial(units, np.full(units, 1 / units), size=some).astype(float)
        parts.append(rates(members, others, members.by_units(chosen), others.by_units(chosen), fprs))
    return np.concatenate(parts)


def portions(times: int, width: int) -> Iterator[int]:
    """How many replicates of `width` weights to hold at a time, until there were `times` of them."""
    most = max(1, AT_ONCE // width)
    for start in range(0, times, most):
        yield min(most, times - start)
