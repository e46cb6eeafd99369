"""RMIA, offline (Zarifzadeh et al., 2024): how many other examples does this one outdo in the target's favour?"""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
PORTION = 16384  # examples compared at a time


def rmia(
    target: Values,
    shadows: Values,
    others_target: Values,
    others_shadows: Values,
    gamma: float = 1.0,
    a: float = 0.3,
) -> Values:
    """Share of the population z for which (p(x|target) / p(x)) / (p(z|target) / p(z)) >= gamma, [n].

    Log-likelihoods, nats per token: target [n] and shadows [n, N] of the examples, others_target [m] and others_shadows
    [m, N] of a population that no model was trained on. p(x) = ((1 + a) mean over shadows + 1 - a) / 2, which makes up
    for shadows that all lack x (their offline form).
    """
    own, rest = _log_ratio(target, shadows, a), _log_ratio(others_target, others_shadows, a)
    parts = (own[start : start + PORTION, None] for start in range(0, len(own), PORTION))
    return np.concatenate([(part - rest[None, :] >= np.log(gamma)).mean(1) for part in parts])


def _log_ratio(target: Values, shadows: Values, a: float) -> Values:
    if not len(target) or shadows.shape[:1] != target.shape or not shadows.shape[1]:
        raise ValueError(f"{target.shape} scores of the target and {shadows.shape} of the shadows; one row an example")
    return target - np.log(((1 + a) * np.exp(shadows).mean(1) + 1 - a) / 2)
