"""A lower bound on epsilon from one training run with canaries (Steinke, Nasr and Jagielski, 2023, theorem 5.2).

Each canary was put in by a fair coin. The auditor guesses the coins of some; under (epsilon, delta) differential
privacy it can hardly be right more often than Bin(guesses, e^epsilon / (1 + e^epsilon)).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, expit

from fedrand.audit.statistics.sample import Values

LARGEST = 60.0
"""Epsilon is not searched beyond: e^60 : 1 is certainty in double precision."""


class Epsilon(NamedTuple):
    """With confidence `level`, the run is not (epsilon, delta)-DP for any epsilon below `low`."""

    low: float
    level: float
    guesses: int
    correct: int


def one_run(
    scores: Values, included: NDArray[np.bool_], guesses: int, delta: float = 0.0, level: float = 0.95
) -> Epsilon:
    """Canaries' scores (higher = in) and coins: the highest guesses / 2 are called in, the lowest out, the rest skipped.

    `guesses` must be fixed before the scores are seen: the best of many is no bound. ValueError for a NaN score, or
    guesses that are odd or more than there are canaries.
    """
    if np.isnan(scores).any():
        raise ValueError("a canary's score is NaN; an attack must give a number for every canary")
    if len(scores) != len(included):
        raise ValueError(f"{len(scores)} scores but {len(included)} coins")
    if guesses % 2 or not 0 < guesses <= len(scores):
        raise ValueError(f"guesses must be even and from 2 to the {len(scores)} canaries, not {guesses}")
    order = np.argsort(scores, kind="stable")
    said_out, said_in = order[: guesses // 2], order[len(order) - guesses // 2 :]
    correct = int(included[said_in].sum() + (~included[said_out]).sum())
    return Epsilon(epsilon_bound(len(scores), guesses, correct, delta, level), level, guesses, correct)


def epsilon_bound(canaries: int, guesses: int, correct: int, delta: float = 0.0, level: float = 0.95) -> float:
    """The largest epsilon that so many correct guesses refute at this level; 0 when they refute none.

    ValueError unless 0 <= correct <= guesses <= canaries and 0 <= delta < 1.
    """
    if not 0 <= correct <= guesses <= canaries or not 0 <= delta < 1:
        raise ValueError(
            f"{correct} correct of {guesses} guesses about {canaries} canaries at delta {delta:g}; "
            "needed: correct <= guesses <= canaries, 0 <= delta < 1"
        )

    def excess(epsilon: float) -> float:
        return p_value(epsilon, canaries, guesses, correct, delta) - (1 - level)

    if excess(0.0) >= 0:
        return 0.0
    return LARGEST if excess(LARGEST) < 0 else float(brentq(excess, 0.0, LARGEST, xtol=1e-12))


def p_value(epsilon: float, canaries: int, guesses: int, correct: int, delta: float) -> float:
    """The chance of so many correct guesses under (epsilon, delta)-DP, bounded from above:
    P[Bin >= v] + 2 m delta max_i P[v > Bin >= v - i] / i."""
    if correct == 0:
        return 1.0
    chance = float(expit(epsilon))
    steps = np.arange(1, correct + 1)
    under = bdtr(correct - 1, guesses, chance)
    between = np.append(under - bdtr(correct - 1 - steps[:-1], guesses, chance), under)  # the last step reaches 0
    most = float(np.max(between / steps)) if delta else 0.0
    return min(1.0, float(bdtrc(correct - 1, guesses, chance)) + 2 * canaries * delta * most)
