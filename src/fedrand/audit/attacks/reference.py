"""Reference difference: how much more likely training made the answer than the same model with its adapter off."""

from fedrand.score import TokenScores


def reference(model: TokenScores, base: TokenScores) -> float:
    """l_base - l_model per answer token, nats."""
    return base.loss - model.loss
