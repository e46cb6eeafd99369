"""What a training step on each example touches: its loss, its own gradient, and at every adapted layer the inputs and
output gradients of its tokens. One forward and one backward pass per batch; memory is bounded by `HELD`."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fedrand.gradients import gradient_rows
from fedrand.lora import Adapter
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.params import Key, Params

HELD = 2**29  # bytes of the layers' inputs and output gradients at once


class Touched(NamedTuple):
    """A batch of n examples. losses [n], nats per answer token; gradients by key [n, ...]; inputs [n, T, d_in] and
    output gradients [n, T, d_out] by layer. Padding, and tokens that no loss depends on, have output gradient 0."""

    losses: np.ndarray
    gradients: Mapping[Key, np.ndarray]
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]


def touched(
    adapter: Adapter,
    features: ImageFeatures,
    encoded: Iterable[Encoded],
    params: Params,
    batch_size: int = 16,
    held: int = HELD,
) -> Iterator[Touched]:
    """Batches of at most `batch_size` examples and about `held` bytes, in the order given, at `params`, which stay in the
    adapter."""
    adapter.load(params)
    token = sum(math.prod(shape) // adapter.rank for shape in adapter.shapes.values()) * adapter.flat.element_size()
    for some in _batches(encoded, batch_size, held // token):
        with adapter.watched() as pairs:
            rows, losses = gradient_rows(adapter, features, some)
            seen = {layer: pair.seen for layer, pair in pairs.items() if pair.seen}
        inputs, outputs = ({layer: _by_example(two[side], len(some)) for layer, two in seen.items()} for side in (0, 1))
        yield Touched(losses, adapter.named(rows), inputs, outputs)


def _batches(encoded: Iterable[Encoded], most: int, tokens: int) -> Iterator[list[Encoded]]:
    """Up to `most` examples that take no more than so many tokens once they are padded to the longest; never none."""
    some: list[Encoded] = []
    for one in encoded:
        longest = max(map(len, (*some, one)))
        if some and (len(some) == most or (len(some) + 1) * longest > tokens):
            yield some
            some = []
        some.append(one)
    if some:
        yield some


def _by_example(flat, count: int) -> np.ndarray:
    """[count * T, d] -> [count, T, d]."""
    return flat.detach().view(count, -1, flat.shape[-1]).cpu().numpy()
