"""Gradient cosine (Li et al., 2023, "Effective passive membership inference"): does the change that a client sent point
along this example's own gradient?"""

import numpy as np

from fedrand.audit.updates.gradient import Gradients, Scores
from fedrand.params import Params, norm


def cosines(gradients: Gradients, change: Params) -> Scores:
    """cos(g, d) per example over the tensors that were sent, [n]; 0 where either has no length.

    gradients: of each example's loss at the start of the round; change: start - end, so along +gradient.
    """
    length = gradients.lengths * norm(change)
    return np.divide(gradients.along(change), length, out=np.zeros_like(length), where=length > 0)
