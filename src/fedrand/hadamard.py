"""A frozen linear with a Hadamard adapter (Hyeon-Woo et al., 2022): y = x (W + s D)^T + b, D = (B A) * (B2 A2 + shift).

The elementwise product needs D [d_out, d_in] itself. It is made anew in the backward pass, where it costs about as many
operations as 2 r tokens, so that no layer keeps a matrix of the size of its weight between the two passes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedrand.models.runtime import torch
from fedrand.params import Key, Params

SHIFT = {"hadamard": 0.0, "hadamard+1": 1.0}
Tensors = Sequence[torch.Tensor]


class Product(NamedTuple):
    """What one layer's node needs beside its tensors. rows: views into [batch, parameters], one per factor, where each
    example's own gradient is wanted."""

    scale: float
    shift: float
    rows: Tensors | None = None


class HadamardLinear(torch.autograd.Function):
    """The frozen linear and its four factors as one node; computes in the factors' precision."""

    @staticmethod
    def forward(ctx, x, weight, bias, a, b, a2, b2, product):  # x [..., d_in] -> [..., d_out]
        flat = x.reshape(-1, x.shape[-1])
        whole = _whole(weight, a, b, a2, b2, product)
        offset = None if bias is None else bias.to(whole.dtype)
        y = torch.nn.functional.linear(flat.to(whole.dtype), whole, offset).to(x.dtype)
        ctx.save_for_backward(flat, weight, a, b, a2, b2)
        ctx.product, ctx.shape = product, x.shape
        return y.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx, grad):  # [..., d_out] -> [..., d_in]
        flat, weight, *factors = ctx.saved_tensors
        out = grad.reshape(-1, grad.shape[-1]).to(factors[0].dtype)
        flat = flat.to(out.dtype)
        dx = None
        if ctx.needs_input_grad[0]:
            dx = (out @ _whole(weight, *factors, ctx.product)).to(grad.dtype).view(ctx.shape)
        grads = (None, None, None, None)
        if ctx.product.rows is not None:
            _write_rows(flat, out, factors, ctx.product)
        elif any(ctx.needs_input_grad[3:7]):
            grads = _factor_grads(out.T @ flat, factors, ctx.product)
        return dx, None, None, *grads, None


def without_shift(params: Params) -> dict[Key, np.ndarray]:
    """Factors of "hadamard+1" as ones of "hadamard" with the same product, of a rank higher by one: [B2 1] [A2; 1] is
    B2 A2 + 1, and a row and a column of zeros leave B A as it is."""
    made = {}
    for key, value in params.items():
        axis = 0 if key.factor[0] == "A" else 1
        edge = np.full_like(value.take([0], axis), float(key.factor in ("A2", "B2")))
        made[key] = np.concatenate([value, edge], axis)
    return made


def _pairs(a: torch.Tensor, b: torch.Tensor, a2: torch.Tensor, b2: torch.Tensor, shift: float) -> Tensors:
    """W1 = B A and W2 = B2 A2 + shift, each [d_out, d_in]."""
    second = b2 @ a2
    return b @ a, second.add_(shift) if shift else second


def _whole(weight: torch.Tensor, a, b, a2, b2, product: Product) -> torch.Tensor:
    """W + s D in the factors' precision: rounded to 16 bits, a small D would be lost in W."""
    first, second = _pairs(a, b, a2, b2, product.shift)
    return torch.addcmul(weight.to(a.dtype), first, second, value=product.scale)


def _factor_grads(outer: torch.Tensor, factors: Tensors, product: Product) -> Tensors:
    """Gradients of A, B, A2, B2 from `outer` = g^T x [d_out, d_in], the gradient of W + s D."""
    a, b, a2, b2 = factors
    first, second = _pairs(a, b, a2, b2, product.shift)
    outer = outer * product.scale
    by_first, by_second = second.mul_(outer), first.mul_(outer)
    return b.T @ by_first, by_first @ a.T, b2.T @ by_second, by_second @ a2.T


def _write_rows(x: torch.Tensor, grad: torch.Tensor, factors: Tensors, product: Product) -> None:
    """Each example's own gradients, one example at a time: `outer` of a whole batch would be as many weights."""
    assert product.rows is not None
    size = len(product.rows[0])
    examples = zip(grad.view(size, -1, grad.shape[-1]), x.view(size, -1, x.shape[-1]), strict=True)
    for number, (g, tokens) in enumerate(examples):
        for row, value in zip(product.rows, _factor_grads(g.T @ tokens, factors, product), strict=True):
            row[number] = value
