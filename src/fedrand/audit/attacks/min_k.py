"""Min-K% (Shi et al., 2024): a member's least likely tokens are not very unlikely."""

from fedrand.audit.attacks.percent import mean_of_lowest
from fedrand.score import TokenScores


def min_k(model: TokenScores, percent: int) -> float:
    """Mean of the K% lowest log p over the answer's tokens and its end, nats."""
    return mean_of_lowest(model.logp, percent)
