"""FedMIA (Zhu et al., 2024, "All for One"): an example's score with its client, against its scores with the others.

m is minus the loss under the model that a client sent (FedMIA-I), or the cosine of the example's gradient with its
update (FedMIA-II). The others did not train on the example, so theirs show what a non-member's would be.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedrand.audit.updates.gradient import Scores

FEW = 3  # others in a round, below which a deviation of that round alone is not to be trusted


class Compared(NamedTuple):
    """One round: the half that was sent, the client's own values [n], and those of the others who sent the same half
    [others, n], which may be none."""

    half: str
    own: Scores
    others: Scores


class FedMIA(NamedTuple):
    """scores [n]: mean over rounds of Phi((m - mean of others) / deviation of others). rounds: how many were used;
    pooled: in how many of them the others of all rounds with the same half stood in for too few of the round's own."""

    scores: Scores
    rounds: int
    pooled: int


def fedmia(compared: Sequence[Compared]) -> FedMIA:
    """Scores of n examples of one client. A half that no two others ever sent is left out; with no round left every
    score is 0 and `rounds` is 0."""
    used = [(one, _crowd(one, compared)) for one in compared]
    parts = [_above(one.own, crowd) for one, crowd in used if len(crowd) > 1]
    pooled = sum(len(one.others) < FEW for one, crowd in used if len(crowd) > 1)
    scores = np.mean(parts, axis=0) if parts else np.zeros(len(compared[0].own) if compared else 0)
    return FedMIA(scores, len(parts), pooled)


def _crowd(one: Compared, every: Sequence[Compared]) -> Scores:
    if len(one.others) >= FEW:
        return one.others
    same = [other.others for other in every if other.half == one.half and len(other.others)]
    return np.concatenate(same) if same else one.others


def _above(own: Scores, others: Scores) -> Scores:
    deviation = others.std(axis=0, ddof=1)
    z = np.divide(own - others.mean(axis=0), deviation, out=np.zeros_like(deviation), where=deviation > 0)
    return np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in z])
