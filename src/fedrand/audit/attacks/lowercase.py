"""Lowercase ratio (Carlini et al., 2021): a member is likelier as it was written than in lower case."""

from fedrand.score import TokenScores

LEAST = 1e-9  # nats; a loss of 0 cannot be divided by


def lowercase_ratio(model: TokenScores, lowered: float) -> float:
    """Loss of the lower-case answer by that of the answer as written; 1 where the two are the same text."""
    return max(lowered, LEAST) / max(model.loss, LEAST)
