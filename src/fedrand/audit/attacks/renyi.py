"""MaxRenyi-K% (Li et al., 2024; paper, eq. 11): members leave the model less unsure where it is most unsure."""

from fedrand.audit.attacks.percent import mean_of_lowest
from fedrand.audit.attacks.seen import Values


def max_renyi(entropies: Values, percent: int) -> float:
    """Minus the mean of the K% largest Renyi entropies of a slice's scored positions, nats; the largest one at K = 0.

    entropies: [positions] of one order, from `Seen.entropies`, which says what is scored.
    """
    return mean_of_lowest(-entropies, percent)
