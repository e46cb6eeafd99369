"""Gradients of n examples side by side, over the tensors that a client sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedrand.params import Key, Params

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Gradients:
    """rows: each sent tensor's gradient for n examples, [n, ...]; lengths are taken once for all attacks."""

    rows: Mapping[Key, NDArray[np.floating]]

    @cached_property
    def lengths(self) -> Scores:
        """||g|| per example, [n]."""
        squares = [np.einsum("np,np->n", rows, rows) for rows in map(_flat, self.rows.values())]
        return np.sqrt(np.sum(squares, axis=0, dtype=np.float64))

    def along(self, change: Params) -> Scores:
        """<g, d> per example, [n]."""
        parts = [_flat(rows) @ np.ravel(change[key]).astype(rows.dtype) for key, rows in self.rows.items()]
        return np.sum(parts, axis=0, dtype=np.float64)


def _flat(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    return rows.reshape(len(rows), -1)
