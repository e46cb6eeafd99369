"""How much each cluster of items moves an AUROC: the pieces that variances and correlations are made of.

DeLong et al. (1988) for single items, Obuchowski (1997) for clusters: the variance of an AUROC is the sum over clusters
of the squared sum of its items' centred placements.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedrand.audit.statistics.rank import placements
from fedrand.audit.statistics.sample import Sample, Values


class Unit(NamedTuple):
    """One unit's AUROC, or the difference of two, taken apart."""

    estimate: float
    pairs: int
    clusters: NDArray[np.str_]  # names, [clusters]
    moves: Values  # [2, clusters]: how far each cluster's members and its non-members move the estimate
    holds: NDArray[np.bool_]  # [2, clusters]: whether each has members, and non-members
    bound: float  # the largest variance there can be

    @property
    def groups(self) -> int:
        """Clusters on the side that has fewer."""
        return int(self.holds.sum(1).min())

    @property
    def variance(self) -> float:
        """Of the estimate; the largest possible one where a side is a single cluster, whose spread nobody can see."""
        return self.bound if self.groups < 2 else float((self.moves.sum(0) ** 2).sum())

    @property
    def doubt(self) -> float:
        """The variance of the variance; clusters with members, with others and with both each have their own degrees of
        freedom, one less than they are (Welch, 1947)."""
        if self.groups < 2:
            return 0.0
        kinds = self.holds[0] + 2 * self.holds[1]
        parts, counts = np.bincount(kinds, self.moves.sum(0) ** 2), np.bincount(kinds)
        return float((2 * parts**2 / np.maximum(counts - 1, 1)).sum())

    def minus(self, other: "Unit") -> "Unit":
        """The same items under another score: correlations within clusters cancel what both share."""
        return self._replace(estimate=self.estimate - other.estimate, moves=self.moves - other.moves, bound=1.0)


def unit(sample: Sample) -> Unit:
    """A usable sample's pieces, by its groups."""
    groups = np.concatenate([np.asarray(sample.member_groups), np.asarray(sample.other_groups)])
    names, index = np.unique(groups, return_inverse=True)
    above, below = placements(sample.members, sample.others)
    estimate, members = float(above.mean()), len(sample.members)
    moves, holds = [], []
    for shares, where in ((above, index[:members]), (below, index[members:])):
        held = np.bincount(where, minlength=len(names)) > 0
        count = int(held.sum())
        small = np.sqrt(count / max(count - 1, 1))  # the clusters' own mean was taken off
        moves.append(np.bincount(where, shares - estimate, len(names)) / len(shares) * small)
        holds.append(held)
    return Unit(estimate, members * len(sample.others), names, np.array(moves), np.array(holds), bound=0.25)


def disjoint_pairs(units: Sequence[Unit]) -> int:
    """How many (member, non-member) pairs there are without a cluster in common: independent coin tosses."""
    return sum(one.groups for one in units)
