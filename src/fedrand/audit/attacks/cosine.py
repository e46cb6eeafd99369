"""Gradient cosine: does the change that a client sent point along this example's own gradient?"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fedrand.params import Params


def cosines(gradients: Iterable[Params], change: Params) -> NDArray[np.float64]:
    """cos(g, d) per example, over the tensors that were sent; 0 where either has no length.

    gradients: of each example's loss at the start of the round; change: start - end, so along +gradient.
    """
    keys = sorted(change)
    direction = _flat(change, keys)
    length = float(np.linalg.norm(direction))
    return np.array([_cosine(_flat(gradient, keys), direction, length) for gradient in gradients])


def _flat(params: Params, keys: list) -> NDArray[np.float64]:
    return np.concatenate([np.zeros(0), *(np.asarray(params[key], np.float64).ravel() for key in keys)])


def _cosine(gradient: NDArray[np.float64], direction: NDArray[np.float64], length: float) -> float:
    product = float(np.linalg.norm(gradient)) * length
    return float(gradient @ direction) / product if product else 0.0
