"""LiRA, offline (Carlini et al., 2022): is the target surer of an example than models that never saw it?"""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
LEAST = 1e-9


def offline_lira(target: Values, shadows: Values) -> Values:
    """z = (target - mean) / sigma per example, in the order of the paper's Phi(z).

    target: [n] scores, higher = member; shadows: [n, N] of N models that never saw the examples. sigma is one for all
    examples, pooled over them: few shadows say little about a single example's (their section on a fixed variance). Of
    a single shadow sigma is 1.
    """
    _check(target, shadows)
    count = shadows.shape[1]
    sigma = float(np.sqrt(shadows.var(1, ddof=1).mean())) if count > 1 else 1.0
    return (target - shadows.mean(1)) / max(sigma, LEAST)


def _check(target: Values, shadows: Values) -> None:
    if shadows.ndim != 2 or shadows.shape[0] != len(target) or not shadows.shape[1]:
        raise ValueError(f"shadow scores are {shadows.shape}; expected ({len(target)}, at least 1)")
