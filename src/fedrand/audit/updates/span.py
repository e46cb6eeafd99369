"""Span of an update (ProjRes; the span check of DAGER, Petrov et al., 2024): does the example lie in what was sent?

dL/dA = s B^T G X^T, so under SGD the rows of delta-A lie in the span of the members' activations X whatever B is; and
dL/dB = s G (A X)^T, so the columns of delta-B lie in the span of their output gradients G. AdamW blurs both. No hidden
half is needed for the first.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fedrand.audit.updates.gradient import Scores
from fedrand.params import Params

Bases = Mapping[str, NDArray[np.floating]]
"""By layer: orthonormal rows [k, d] that span what was sent."""
FLOOR = 1e-4  # of the largest singular value: below it a direction is float32's rounding


def bases(change: Params, factor: str) -> dict[str, NDArray[np.floating]]:
    """Of each layer whose `factor` was sent: the row space of delta-A [r, d_in], or the column space of delta-B
    [d_out, r]."""
    return {key.layer: _basis(value, factor) for key, value in change.items() if key.factor == factor}


def projections(
    spanned: Bases, vectors: Mapping[str, NDArray[np.floating]], gradients: Mapping[str, NDArray]
) -> Scores:
    """Mean over layers and tokens of ||P h|| / ||h|| per example, [n], in [0, 1].

    vectors: by layer, h [n, T, d]; gradients: the layer's output gradients [n, T, d_out], which are 0 for padding and
    for tokens that no loss depends on: those are left out.
    """
    layers = [_projection(basis, vectors[layer], gradients[layer]) for layer, basis in spanned.items()]
    return np.mean(layers, axis=0)


def _basis(change: NDArray[np.floating], factor: str) -> NDArray[np.floating]:
    left, sizes, right = np.linalg.svd(change, full_matrices=False)
    kept = sizes > FLOOR * sizes[0] if sizes[0] else np.zeros(len(sizes), bool)
    return right[kept] if factor == "A" else left.T[kept]


def _projection(basis: NDArray[np.floating], h: NDArray[np.floating], gradient: NDArray[np.floating]) -> Scores:
    reached = gradient.any(axis=-1)  # [n, T]
    whole = np.linalg.norm(h, axis=-1)
    inside = np.linalg.norm(h @ basis.T, axis=-1)
    share = np.divide(inside, whole, out=np.zeros_like(whole), where=(whole > 0) & reached)
    return share.sum(axis=1, dtype=np.float64) / np.maximum(reached.sum(axis=1), 1)
