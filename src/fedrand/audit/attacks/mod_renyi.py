"""ModRenyi (Li et al., 2024): entropy that also rises where the true token is unlikely; members have the lower one."""

from fedrand.score import MOD_ALPHAS, TokenScores


def mod_renyi(model: TokenScores, alpha: float = 0.5) -> float:
    """Minus the mean modified entropy over the answer's tokens and its end; alpha from score.MOD_ALPHAS."""
    return -float(model.mod_renyi[MOD_ALPHAS.index(alpha)].mean())
