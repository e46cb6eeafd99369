"""The slow path: a model's own forward, with its own masks and positions, for whatever the fast path does not hold for.

Models that place an image on two axes (Qwen2-VL), whose images take more or fewer tokens (LLaVA-OneVision, SmolVLM), or
that look ahead within an image or a prompt (Gemma 3, PaliGemma). Their processor writes the prompt; image features are
still computed once per image and handed to the forward as `mm_encoder_outputs`.
"""

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import Image

from fedrand.data.example import ImageSource
from fedrand.models.encoding import Encoded, Prompt
from fedrand.models.errors import ModelError
from fedrand.models.runtime import torch

Inputs = dict[str, Any]
_OURS = {"input_ids", "attention_mask", "labels"}  # of what a processor returns per token


class Seen(NamedTuple):
    """One image. output: what the tower and connector made of it, as the model's own class holds it; beside: what else
    the language side asks of an image, such as its grid."""

    output: Any
    beside: Mapping[str, torch.Tensor]


@dataclass
class State:
    """Of a decoding. deltas: [B, 1], how far a text's positions lag behind its length where an image took two axes."""

    cache: Any
    deltas: torch.Tensor | None


class ByProcessor:
    """The processor writes the prompt; what it made of a prompt and an image is kept, pixels apart, and once for all
    images of which it makes the same."""

    def __init__(self, model: Any, processor: Any, image_text: str, image_token: int, sample: Image.Image) -> None:
        self.processor, self.image_text, self.image_token = processor, image_text, image_token
        self.marks = frozenset({image_token, processor.tokenizer.convert_tokens_to_ids(processor.image_token)})
        self._known: dict[tuple[str, str], Prompt] = {}
        self._alike: dict[bytes, Prompt] = {}
        self._names: tuple[str, ...] = ()
        made = self.process(sample)
        wanted, shape = set(inspect.signature(model.base_model.forward).parameters), made["input_ids"].shape
        self._names = tuple(sorted(name for name in wanted & set(made) - _OURS if made[name].shape == shape))
        self.answer_values: Mapping[str, int] = _next_values(model, self._names)

    def expand(self, start: list[int], text: str, image: ImageSource | None) -> Prompt:
        if image is None:
            return Prompt(start, {name: [0] * len(start) for name in self._names})
        if (key := (text, image.key)) not in self._known:
            made = self.process(image.load(), text)
            of = {name: made[name][0] for name in ("input_ids", *self._names)}
            mark = hashlib.sha256(b"".join(value.numpy().tobytes() for value in of.values())).digest()
            if mark not in self._alike:
                lists = {name: value.tolist() for name, value in of.items()}
                self._alike[mark] = Prompt(lists.pop("input_ids"), lists)
            self._known[key] = self._alike[mark]
        return self._known[key]

    def process(self, image: Image.Image, text: str = "") -> Any:
        """All that the processor makes of one image in a text."""
        return self.processor(text=[text or self.image_text], images=[[image]], return_tensors="pt")

    def of_image(self, image: Image.Image) -> dict[str, torch.Tensor]:
        """What of it belongs to the image."""
        made = self.process(image)
        return {name: value for name, value in made.items() if name not in {*_OURS, *self._names}}


def _next_values(model: Any, names: Sequence[str]) -> dict[str, int]:
    """What the model's own generate gives each token that is said after a prompt."""
    before = {name: torch.zeros(1, 1, dtype=torch.long) for name in names}
    after = model._update_model_kwargs_for_generation({}, dict(before))
    return {name: int(after[name][0, -1]) for name in names}


class OwnForward:
    """Inputs are the arguments of the model's forward below its head."""

    slow = True

    def __init__(self, model: Any, layout: ByProcessor) -> None:
        self.layout, self._base = layout, model.base_model
        self._weight = model.get_input_embeddings().weight
        self._takes = inspect.signature(self._base.forward).parameters
        if "mm_encoder_outputs" not in self._takes:
            raise ModelError("its forward takes no image features (mm_encoder_outputs)")
        self._sees = inspect.signature(self._base.get_image_features).parameters

    @torch.no_grad()
    def see(self, images: Sequence[Image.Image]) -> list[Seen]:
        """Features of each image, computed by itself: no image's bits depend on another's."""
        return [self._see(image) for image in images]

    def _see(self, image: Image.Image) -> Seen:
        made = {name: self._placed(value) for name, value in self.layout.of_image(image).items()}
        output = self._base.get_image_features(**{name: made[name] for name in made.keys() & self._sees.keys()})
        beside = {n: made[n] for n in made.keys() & self._takes.keys() if not n.startswith("pixel_")}
        return Seen(type(output)(pooler_output=output.pooler_output), beside)

    def inputs(self, ids: torch.Tensor, encoded: Sequence[Encoded], seen: Sequence[Seen]) -> Inputs:
        """Of ids [B, T], padded on the right."""
        length = torch.tensor([[len(one)] for one in encoded], device=ids.device)
        inputs: Inputs = {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]).to(length) < length).long()}
        for name in self.layout.answer_values:
            inputs[name] = torch.zeros_like(ids)
            for row, one in zip(inputs[name], encoded, strict=True):
                row[: len(one)] = torch.from_numpy(one.per_token[name])
        if seen:
            inputs |= {name: torch.cat([one.beside[name] for one in seen]) for name in seen[0].beside}
            inputs["mm_encoder_outputs"] = {"image": _joined([one.output for one in seen])}
        return inputs

    def more(self, ids: torch.Tensor) -> Inputs:
        """Inputs for text [B, T] that goes on where a state ends."""
        return {"input_ids": ids}

    def decode(self, inputs: Inputs) -> torch.Tensor:
        """Last hidden states [B, T, H]."""
        return self._base(**inputs, use_cache=False).last_hidden_state

    def decode_on(self, inputs: Inputs, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Hidden states [B, T, H] after the tokens in `state`, and the state with these tokens too."""
        two_axes = hasattr(self._base, "rope_deltas")
        if two_axes:  # the model remembers this of its last batch, which may have been another
            self._base.rope_deltas = state.deltas if state else None
        output = self._base(**inputs, cache=state.cache if state else None, use_cache=True)
        return output.last_hidden_state, State(output.cache, self._base.rope_deltas if two_axes else None)

    def select(self, state: State, rows: torch.Tensor) -> State:
        """The state of these rows, in this order."""
        state.cache.batch_select_indices(rows)
        return State(state.cache, None if state.deltas is None else state.deltas[rows])

    def _placed(self, value: torch.Tensor) -> torch.Tensor:
        return value.to(self._weight.device, self._weight.dtype if value.is_floating_point() else value.dtype)


def _joined(outputs: Sequence[Any]) -> Any:
    """The features of several images as the model would have made them in one batch."""
    parts = [output.pooler_output for output in outputs]
    one = torch.cat(parts) if isinstance(parts[0], torch.Tensor) else tuple(f for part in parts for f in part)
    return type(outputs[0])(pooler_output=one)
