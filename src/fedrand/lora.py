"""LoRA on a frozen model (Hu et al., 2022): y = x W^T + b + s (x A^T) B^T, all factors views into one flat vector.

The vector holds every layer's A, then every layer's B (and A2, B2 of a Hadamard adapter), so that the methods that train
one factor train one slice of it.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from fedrand.hadamard import SHIFT, HadamardLinear, Product
from fedrand.models.errors import ModelError
from fedrand.models.linears import language_linears
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.params import FACTORS, Key, Params


@dataclass
class Pair:
    """One layer's factors: a [r, d_in] and b [d_out, r] are views into the bank, and so are a2 and b2 of the same shapes
    in `second`, empty for LoRA; `rows`, when per-example gradients are wanted, are views into [batch, parameters], one
    per factor, shaped [batch, r, d_in] and [batch, d_out, r]; `seen`, after a backward pass that was watched, are the
    layer's inputs [N, d_in] and output gradients [N, d_out]."""

    a: torch.nn.Parameter
    b: torch.nn.Parameter
    scale: float
    second: tuple[torch.nn.Parameter, ...] = ()
    rows: tuple[torch.Tensor, ...] | None = None
    watched: bool = False
    seen: tuple[torch.Tensor, torch.Tensor] | None = None


class _LoraLinear(torch.autograd.Function):
    """The frozen linear and its pair as one node: it keeps x and A x^T, and no gradient of W is ever formed.

    Products with the thin side (r) in front, [r, N]: two to four times as fast on CPU as [N, r].
    """

    @staticmethod
    def forward(ctx, x, weight, bias, a, b, pair):  # x [..., d_in] -> [..., d_out]
        flat = x.reshape(-1, x.shape[-1])
        low = a @ flat.to(a.dtype).T
        y = flat @ weight.T if bias is None else torch.addmm(bias, flat, weight.T)
        y.addmm_(low.T.to(y.dtype), b.T.to(y.dtype), alpha=pair.scale)
        ctx.save_for_backward(flat, low, weight, a, b)
        ctx.pair, ctx.shape = pair, x.shape
        return y.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx, grad):  # [..., d_out] -> [..., d_in]
        flat, low, weight, a, b = ctx.saved_tensors
        out = grad.reshape(-1, grad.shape[-1])
        x, wide = flat.to(a.dtype), out.to(b.dtype)
        back = (b.T @ wide.T).mul_(ctx.pair.scale)  # [r, N], the gradient of low
        if ctx.pair.watched:
            ctx.pair.seen = x, wide
        dx = da = db = None
        if ctx.needs_input_grad[0]:
            dx = (out @ weight).addmm_(back.T.to(out.dtype), a.to(out.dtype)).view(ctx.shape)
        if ctx.pair.rows is not None:
            _write_rows(ctx.pair, x, low, wide, back)
            return dx, None, None, None, None, None
        if ctx.needs_input_grad[3]:
            da = back @ x
        if ctx.needs_input_grad[4]:
            db = (low @ wide).mul_(ctx.pair.scale).T
        return dx, None, None, da, db, None


def _write_rows(pair: Pair, x: torch.Tensor, low: torch.Tensor, grad: torch.Tensor, back: torch.Tensor) -> None:
    """Per example i: dA_i = s B^T g_i^T x_i and dB_i = s g_i^T (x_i A^T); the others' tokens have no part in it."""
    assert pair.rows is not None
    da, db, *_ = pair.rows
    size = len(da)
    x, grad = (value.view(size, -1, value.shape[-1]) for value in (x, grad))
    low, back = (value.view(len(value), size, -1).movedim(1, 0) for value in (low, back))
    da.copy_(back @ x)
    db.copy_((low @ grad).mul_(pair.scale).mT)


class Adapter:
    """Factors on linears of a model, of one of the kinds in `params.FACTORS`; one bank `flat` and its gradient `grad`,
    both [parameters].

    Attach one at a time, with `Adapter.attach`. While it is attached the model's own forward has the adapter in it.
    """

    def __init__(
        self, vlm: VisionLanguageModel, layers: Sequence[str], rank: int, scale: float, kind: str = "lora"
    ) -> None:
        self.vlm, self.layers, self.rank, self.scale, self.kind = vlm, tuple(layers), rank, scale, kind
        self._linears = [vlm.model.get_submodule(layer) for layer in self.layers]
        dtype = torch.float64 if vlm.dtype == torch.float64 else torch.float32
        self.shapes: dict[Key, tuple[int, int]] = {
            Key(name, factor): (rank, linear.in_features) if factor[0] == "A" else (linear.out_features, rank)
            for factor in FACTORS[kind]
            for name, linear in zip(self.layers, self._linears, strict=True)
        }
        self.keys: tuple[Key, ...] = tuple(self.shapes)
        ends = np.cumsum([0, *(math.prod(shape) for shape in self.shapes.values())]).tolist()
        self._spans = {key: slice(*span) for key, *span in zip(self.keys, ends[:-1], ends[1:], strict=True)}
        self.flat = torch.zeros(ends[-1], dtype=dtype, device=vlm.device)
        self.grad = torch.zeros_like(self.flat)
        self._factors = {key: self._parameter(key) for key in self.keys}
        self.pairs = [self._pair(layer) for layer in self.layers]
        self._on = True
        self._single = kind == "lora"  # only the first pairs are in force

    @classmethod
    def attach(
        cls,
        vlm: VisionLanguageModel,
        rank: int = 8,
        scale: float = 1.0,
        layers: Sequence[str] | None = None,
        kind: str = "lora",
    ) -> "Adapter":
        """An adapter, all zero, on every linear of the language model's layers, or on `layers` (dotted names)."""
        known = language_linears(vlm.model)
        if unknown := sorted(set(layers or ()) - set(known)):
            raise ModelError(f"no language linear '{unknown[0]}' in model '{vlm.name}'; choose from {', '.join(known)}")
        adapter = cls(vlm, layers or known, rank, scale, kind)
        for linear, pair in zip(adapter._linears, adapter.pairs, strict=True):
            if "forward" in vars(linear):
                raise ModelError(f"model '{vlm.name}' has an adapter already; detach it first")
            linear.forward = adapter._forward(linear, pair)
        return adapter

    def detach(self) -> None:
        """Give the model its own forward back."""
        for linear in self._linears:
            del linear.forward

    @contextmanager
    def off(self) -> Iterator[None]:
        """The base model, to the bit, for as long as the context lasts."""
        before, self._on = self._on, False
        try:
            yield
        finally:
            self._on = before

    def initial(self, rng: np.random.Generator) -> dict[Key, np.ndarray]:
        """B zero, every other factor Kaiming-uniform as PEFT draws it, U(-1/sqrt(n), 1/sqrt(n)) with n its columns: d_in
        for A."""
        made = {}
        for key, shape in self.shapes.items():
            bound = 1 / math.sqrt(shape[1]) if key.factor != "B" else 0.0
            made[key] = rng.uniform(-bound, bound, shape).astype(self._numpy_dtype) if bound else self._zeros(shape)
        return made

    def load(self, params: Params) -> None:
        """Set every factor; given the first pairs alone, a Hadamard adapter is LoRA of these until the next `load`.

        ValueError names missing, unexpected and misshapen tensors.
        """
        single = all(key.factor in FACTORS["lora"] for key in params)
        wanted = self._first_pairs if single else self.keys
        missing, unexpected = sorted(set(wanted) - params.keys()), sorted(params.keys() - set(wanted))
        if missing or unexpected:
            found = f"{_named('missing', missing)}, {_named('unexpected', unexpected)}"
            raise ValueError(f"not this adapter's tensors: {found}; it was made for other layers")
        if wrong := next((key for key in wanted if params[key].shape != self.shapes[key]), None):
            found = f"{params[wrong].shape}, not {self.shapes[wrong]}"
            raise ValueError(f"tensor {wrong} has shape {found}; use rank {self.rank}")
        self.flat.copy_(self.vector(params))
        self._single = single

    def read(self) -> dict[Key, np.ndarray]:
        """Copies of every factor in force."""
        values = self.named(self.flat.cpu().numpy().copy())
        return {key: values[key] for key in (self._first_pairs if self._single else self.keys)}

    def named(self, flat: np.ndarray) -> dict[Key, np.ndarray]:
        """A vector [parameters], or rows of them [..., parameters], as tensors by key: views into it."""
        return {key: flat[..., span].reshape(*flat.shape[:-1], *self.shapes[key]) for key, span in self._spans.items()}

    def vector(self, params: Params) -> torch.Tensor:
        """Inverse of `named`: a new vector [parameters]; 0 where `params` has no tensor."""
        flat = torch.zeros_like(self.flat)
        for key, value in params.items():
            flat[self._spans[key]] = torch.from_numpy(np.ascontiguousarray(value).reshape(-1)).to(flat)
        return flat

    def train_only(self, keys: Collection[Key]) -> list[slice]:
        """Let gradients reach only these factors; returns where they lie in the bank, neighbours joined."""
        spans: list[slice] = []
        for key, factor in self._factors.items():
            factor.requires_grad_(key in keys)
            span = self._spans[key]
            if key in keys and spans and spans[-1].stop == span.start:
                spans[-1] = slice(spans[-1].start, span.stop)
            elif key in keys:
                spans.append(span)
        return spans

    @contextmanager
    def per_example(self, count: int) -> Iterator[torch.Tensor]:
        """A backward pass inside writes each of `count` examples' own gradient to a row of [count, parameters]."""
        rows = self.flat.new_zeros(count, len(self.flat))
        self.train_only(self.keys)
        for layer, pair in zip(self.layers, self.pairs, strict=True):
            keys = [Key(layer, factor) for factor in FACTORS[self.kind]]
            pair.rows = tuple(rows[:, self._spans[key]].view(count, *self.shapes[key]) for key in keys)
        try:
            yield rows
        finally:
            for pair in self.pairs:
                pair.rows = None

    @property
    def _first_pairs(self) -> tuple[Key, ...]:
        return tuple(key for key in self.keys if key.factor in FACTORS["lora"])

    def _pair(self, layer: str) -> Pair:
        a, b, *second = (self._factors[Key(layer, factor)] for factor in FACTORS[self.kind])
        return Pair(a, b, self.scale, tuple(second))

    @contextmanager
    def watched(self) -> Iterator[dict[str, Pair]]:
        """A backward pass inside leaves each layer's inputs and output gradients in its pair's `seen`."""
        for pair in self.pairs:
            pair.watched = True
        try:
            yield dict(zip(self.layers, self.pairs, strict=True))
        finally:
            for pair in self.pairs:
                pair.watched, pair.seen = False, None

    def _parameter(self, key: Key) -> torch.nn.Parameter:
        span, shape = self._spans[key], self.shapes[key]
        parameter = torch.nn.Parameter(self.flat[span].view(shape))
        parameter.grad = self.grad[span].view(shape)
        return parameter

    def _forward(self, linear: torch.nn.Linear, pair: Pair):
        def forward(x: torch.Tensor) -> torch.Tensor:
            if not self._on:
                return torch.nn.functional.linear(x, linear.weight, linear.bias)
            if self._single:
                return _LoraLinear.apply(x, linear.weight, linear.bias, pair.a, pair.b, pair)
            product = Product(self.scale, SHIFT[self.kind], pair.rows)
            return HadamardLinear.apply(x, linear.weight, linear.bias, pair.a, pair.b, *pair.second, product)

        return forward

    @property
    def _numpy_dtype(self) -> np.dtype:
        return self.flat.cpu().numpy().dtype

    def _zeros(self, shape: tuple[int, int]) -> np.ndarray:
        return np.zeros(shape, self._numpy_dtype)


def _named(what: str, keys: Sequence[Key]) -> str:
    shown = ", ".join(map(str, keys[:3])) + (", ..." if len(keys) > 3 else "")
    return f"{len(keys)} {what}" + (f" ({shown})" if keys else "")
