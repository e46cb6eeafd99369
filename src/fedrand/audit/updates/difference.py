"""Gradient difference (Li et al., 2023, "Effective passive membership inference"): how much shorter the change gets
once this example's own gradient is taken out of it."""

from fedrand.audit.updates.gradient import Gradients, Scores
from fedrand.params import Params


def differences(gradients: Gradients, change: Params) -> Scores:
    """||d||^2 - ||d - g||^2 = 2 <d, g> - ||g||^2 per example over the tensors that were sent, [n].

    The gradient is taken as it is: where the rate is unknown or the optimiser no SGD, its length is not that of a step.
    """
    return 2 * gradients.along(change) - gradients.lengths**2
