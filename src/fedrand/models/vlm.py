"""One resident model: frozen, always in evaluation mode, run below its head by one of two paths."""

import hashlib
from collections.abc import Callable
from types import MethodType
from typing import Any, Protocol

from fedrand.data.example import Example
from fedrand.models.encoding import Encoded, Encoder, Layout
from fedrand.models.errors import ModelError
from fedrand.models.runtime import torch

# What a model may do to the head's logits, by the name of the value in its configuration.
SCALES: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "final_logit_softcapping": lambda logits, cap: torch.tanh(logits / cap) * cap,  # Gemma
    "logits_scaling": lambda logits, scale: logits / scale,  # Granite
    "logit_scale": lambda logits, scale: logits * scale,  # Cohere
}


class Path(Protocol):
    """How hidden states come about. `fast.Fast` and `own_forward.OwnForward` are the two; what they take as inputs and
    keep as the state of a decoding is their own."""

    slow: bool
    layout: Layout

    def see(self, images: Any) -> list[Any]: ...
    def inputs(self, ids: torch.Tensor, encoded: Any, seen: Any) -> Any: ...
    def more(self, ids: torch.Tensor) -> Any: ...
    def decode(self, inputs: Any) -> torch.Tensor: ...
    def decode_on(self, inputs: Any, state: Any = None) -> tuple[torch.Tensor, Any]: ...
    def select(self, state: Any, rows: torch.Tensor) -> Any: ...


class VisionLanguageModel:
    """A transformers image-text-to-text or causal language model with its processor or tokenizer.

    scale: one of SCALES, which this model applies, or "". Use `fedrand.models.load_model` to make one: it checks that
    `path` and `scale` give the model's own logits.
    """

    def __init__(self, model: Any, processor: Any, name: str, path: Path, scale: str = "") -> None:
        self.model, self.processor, self.name, self.path = frozen(model), processor, name, path
        self.tokenizer = tokenizer_of(processor)
        self.image_token = path.layout.image_token
        text = model.config.get_text_config()
        self.max_length: int = text.max_position_embeddings
        padding, end = self.tokenizer.pad_token_id, self.tokenizer.eos_token_id
        if end is None:
            raise ModelError(f"model '{name}' has a tokenizer without an end of text (eos_token); set one")
        self.pad: int = end if padding is None else padding
        self.ends = _ends(model, self.tokenizer)
        self._embedding, self._head = model.get_input_embeddings(), model.get_output_embeddings()
        self._scale, self._by = SCALES.get(scale), getattr(text, scale, 1.0)
        self._encoder = Encoder(self.tokenizer, path.layout, end, self.max_length)

    @property
    def dtype(self) -> torch.dtype:
        return self._embedding.weight.dtype

    @property
    def device(self) -> torch.device:
        return self._embedding.weight.device

    @property
    def never_said(self) -> list[int]:
        """Tokens that are no words: the image's, and padding unless it ends a text too."""
        return sorted({self.image_token, self.pad} - {-1} - set(self.ends))

    @property
    def kind(self) -> str:
        """Name and family, for messages."""
        return f"model '{self.name}' ({self.model.config.model_type})"

    def encode(self, example: Example, *, with_image: bool = True, with_answer: bool = True) -> Encoded:
        """Token ids: the prompt, then " " + answer + end of text. ExampleError names an example that does not fit."""
        return self._encoder.encode(example, with_image, with_answer)

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [..., V] in float32 (float64 for a float64 model)."""
        logits = self._head(hidden)
        if self._scale is not None:
            logits = self._scale(logits, self._by)
        return logits if logits.dtype == torch.float64 else logits.float()

    def fingerprint(self) -> str:
        """sha256 over the names, types, shapes and bits of all weights."""
        digest = hashlib.sha256()
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()


def tokenizer_of(processor: Any) -> Any:
    """A processor's tokenizer; a language model's processor is one."""
    return getattr(processor, "tokenizer", processor)


def frozen(model: Any) -> Any:
    """The model without gradients, in evaluation mode for good: one forward in training mode would overwrite the
    tower's BatchNorm statistics, and with them every feature."""
    model.requires_grad_(False).eval()
    for module in model.modules():
        module.train = MethodType(_stay, module)
    return model


def _stay(module: torch.nn.Module, mode: bool = True) -> torch.nn.Module:
    return module


def _ends(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Tokens that end an answer: the tokenizer's, and those that the model's generation config adds."""
    declared = model.generation_config.eos_token_id
    more = declared if isinstance(declared, list) else [declared]
    return tuple(sorted({tokenizer.eos_token_id, *more} - {None}))
