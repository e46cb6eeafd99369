"""Trainable tensors by name: what a strategy speaks of and what travels."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Key(NamedTuple):
    """One trainable tensor: the layer it adapts and its factor ("A" random-initialised, "B" zero-initialised; "A2" and
    "B2", the second pair of a Hadamard adapter, both random)."""

    layer: str
    factor: str

    def __str__(self) -> str:
        return f"{self.layer}.{self.factor}"

    @classmethod
    def parse(cls, text: str) -> "Key":
        """Inverse of `str`: "layers.0.q_proj.A" -> Key("layers.0.q_proj", "A")."""
        layer, dot, factor = text.rpartition(".")
        if not dot or not layer or not factor:
            raise ValueError(f"'{text}' is not a tensor name; expected LAYER.FACTOR, such as layers.0.q_proj.A")
        return cls(layer, factor)


Keys = frozenset[Key]

FACTORS: Mapping[str, tuple[str, ...]] = {
    "lora": ("A", "B"),  # dW = s B A
    "hadamard": ("A", "B", "A2", "B2"),  # dW = s (B A) * (B2 A2), elementwise
    "hadamard+1": ("A", "B", "A2", "B2"),  # dW = s (B A) * (B2 A2 + 1)
}
"""The factors of each kind of adapter; B [d_out, r] and A [r, d_in], and the second pair likewise."""

Params = Mapping[Key, NDArray[np.floating]]


def select(params: Params, keys: Iterable[Key]) -> dict[Key, NDArray[np.floating]]:
    """The named tensors, in the order of `params`; KeyError names the ones that are not there."""
    wanted = frozenset(keys)
    if missing := wanted - params.keys():
        raise KeyError(f"no tensor named {', '.join(map(str, sorted(missing)))}")
    return {key: value for key, value in params.items() if key in wanted}


def copied(params: Params) -> dict[Key, NDArray[np.floating]]:
    """The same tensors in memory of their own."""
    return {key: np.array(value, copy=True) for key, value in params.items()}


def num_bytes(params: Params) -> int:
    """Bytes of the tensors alone, without any header."""
    return sum(value.nbytes for value in params.values())


def norm(params: Params) -> float:
    """L2 norm over all tensors together, summed in float64."""
    return float(np.sqrt(sum(float(np.sum(np.square(value, dtype=np.float64))) for value in params.values())))


def difference(left: Params, right: Params) -> dict[Key, NDArray[np.floating]]:
    """left - right on the keys of `left`, float32."""
    return {key: np.asarray(value - right[key], dtype=np.float32) for key, value in left.items()}


def identical(left: Params, right: Params) -> bool:
    """Whether both hold the same keys with the same bits."""
    return left.keys() == right.keys() and all(
        value.dtype == right[key].dtype and value.shape == right[key].shape and value.tobytes() == right[key].tobytes()
        for key, value in left.items()
    )
