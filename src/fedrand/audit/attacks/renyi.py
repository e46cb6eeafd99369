"""MaxRenyi-K% (Li et al., 2024; paper, eq. 11): members leave the model less unsure where it is most unsure."""

import numpy as np

from fedrand.score import ALPHAS, TokenScores


def max_renyi(model: TokenScores, percent: int, alpha: float = 0.5) -> float:
    """Minus the mean of the K% largest Renyi entropies over the text's positions, nats; the largest one at K = 0."""
    entropies = np.sort(model.renyi[ALPHAS.index(alpha)])
    count = max(1, int(len(entropies) * percent / 100))
    return -float(entropies[-count:].mean())
