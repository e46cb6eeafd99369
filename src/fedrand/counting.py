"""Operations and live memory of a computation on fake tensors: counted, not run."""

import math
import weakref
from collections.abc import Iterable
from typing import Any

from fedrand.models.runtime import torch

aten = torch.ops.aten


def _product(out: Any, *matrices: Any) -> int:
    """[..., n, k] by [..., k, m]."""
    return 2 * out.numel() * matrices[-1].shape[-2]


def _attention(products: int, first: int) -> Any:
    """So many products of [T, D] by [D, S] per head; the queries are argument number `first`."""

    def flops(out: Any, *inputs: Any) -> int:
        query, key = inputs[first], inputs[first + 1]
        return 2 * products * query.numel() * key.shape[-2]

    return flops


# Everything else is small beside these. A backward pass of attention computes the weights anew: five products.
FLOPS = {
    aten.mm.default: _product,
    aten.bmm.default: _product,
    aten.addmm.default: lambda out, _, *matrices: _product(out, *matrices[:2]),
    aten.addmm_.default: lambda out, _, *matrices: _product(out, *matrices[:2]),
    aten.convolution.default: lambda out, _, weight, *more: 2 * out.numel() * math.prod(weight.shape[1:]),
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention(2, 0),
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _attention(5, 1),
}


class Count(torch.utils._python_dispatch.TorchDispatchMode):
    """Within `with Count(held) as count`: count.flops so far, and count.peak, bytes of the tensors alive at once.

    held: tensors that are alive before, such as the weights.
    """

    def __init__(self, held: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self.flops = self.now = self.peak = 0
        self._alive: set[int] = set()
        for tensor in held:
            self._born(tensor)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, torch.Tensor):
                self._born(tensor)
        if function in FLOPS:
            self.flops += FLOPS[function](out[0] if isinstance(out, tuple) else out, *args)
        return out

    def _born(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        mark, size = storage._cdata, storage.nbytes()
        if mark in self._alive:
            return
        self._alive.add(mark)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, mark, size)

    def _gone(self, mark: int, size: int) -> None:
        self._alive.discard(mark)
        self.now -= size
