"""P3: how many canaries an attack places rightly, and the epsilon that this rules out (Steinke et al., 2023)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Bound = Callable[[int, int, int, float, float], float]
"""(canaries, guesses, correct, delta, level) -> lower bound on epsilon, as `fedrand.audit.statistics.one_run` has it."""


class Guesses(NamedTuple):
    """canaries: all that had a coin thrown; guesses: those an attack commits itself on; correct: of these."""

    canaries: int
    guesses: int
    correct: int


def guess(inside: Values, outside: Values, positive: int, negative: int, rng: np.random.Generator) -> Guesses:
    """The `positive` highest scores are called trained on, the `negative` lowest not, ties in random order.

    inside, outside: scores, higher = member, of the canaries that the coin put in and of those it kept out. How many
    are called must be fixed before the scores are seen, or the bound does not hold.
    """
    scores = np.concatenate([inside, outside])
    if np.isnan(scores).any():
        raise ValueError("a canary's score is NaN; an attack must give a number for every item")
    if positive + negative > len(scores):
        raise ValueError(f"{positive} + {negative} guesses on {len(scores)} canaries; make fewer")
    member = np.arange(len(scores)) < len(inside)
    shuffled = rng.permutation(len(scores))
    order = shuffled[np.argsort(scores[shuffled], kind="stable")]
    right = int(member[order[len(order) - positive :]].sum()) + int((~member[order[:negative]]).sum())
    return Guesses(len(scores), positive + negative, right)


def epsilon(guesses: Guesses, bound: Bound, delta: float = 0.0, level: float = 0.95) -> float:
    """With confidence `level`, the training of one record is not (epsilon', delta)-private for any epsilon' below it."""
    return bound(guesses.canaries, guesses.guesses, guesses.correct, delta, level)
