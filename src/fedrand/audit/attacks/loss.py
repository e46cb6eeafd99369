"""Loss (Yeom et al., 2018): members have the lower one."""

from fedrand.score import TokenScores


def loss(model: TokenScores) -> float:
    """Minus the mean negative log-likelihood per answer token, nats."""
    return -model.loss
