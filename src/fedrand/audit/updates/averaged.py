"""One score per example from all rounds of its client: the mean over the rounds in which the attack could look."""

from collections.abc import Sequence

import numpy as np

from fedrand.audit.updates.gradient import Scores


def averaged(rounds: Sequence[Scores]) -> Scores:
    """The mean over rounds, each brought to mean 0 and deviation 1 over the examples first: lengths and losses shrink
    as training goes on, and a late round should not weigh less for it. A round without any spread says nothing."""
    spread = [(values - values.mean()) / values.std() for values in rounds if values.std() > 0]
    return np.mean(spread, axis=0) if spread else np.zeros_like(rounds[0])
