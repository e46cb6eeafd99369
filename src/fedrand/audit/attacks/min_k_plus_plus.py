"""Min-K%++ (Zhang et al., 2024): a member's tokens lie at a mode of the model's distribution."""

import numpy as np

from fedrand.audit.attacks.percent import mean_of_lowest
from fedrand.score import TokenScores

LEAST = 1e-6  # nats; a model that is certain has no spread to divide by


def min_k_plus_plus(model: TokenScores, percent: int) -> float:
    """Mean of the K% lowest z = (log p(y) - mu) / sigma over the answer's tokens and its end; mu and sigma are mean and
    standard deviation of log p under p."""
    sigma = np.maximum(np.sqrt(model.var_logp), LEAST)
    return mean_of_lowest((model.logp - model.mean_logp) / sigma, percent)
