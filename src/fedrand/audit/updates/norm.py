"""Gradient norm (Nasr et al., 2019): what a model has trained on moves it less."""

from fedrand.audit.updates.gradient import Gradients, Scores


def gradient_norms(gradients: Gradients) -> Scores:
    """-||g|| per example over the tensors that were sent, [n]."""
    return -gradients.lengths
