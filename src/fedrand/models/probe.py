"""Which path gives a model's own logits: asked of the model itself, on two drawn images and a little text."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from PIL import Image

from fedrand.data.example import Example
from fedrand.data.prompts import PLACEHOLDER, render
from fedrand.models.encoding import OneLength
from fedrand.models.errors import ModelError
from fedrand.models.fast import Fast
from fedrand.models.own_forward import ByProcessor, OwnForward
from fedrand.models.runtime import torch
from fedrand.models.vlm import SCALES, Path, VisionLanguageModel, frozen, tokenizer_of

SUPPORTED = "choose one whose forward takes image features, such as LLaVA, Qwen2-VL, SmolVLM, Gemma 3 or PaliGemma"
# Of the norm; 16-bit types: 0.05. By rounding SmolLM2-135M is off by 5e-5 with one thread, 3e-4 with two (3e-8 in float64); with images
# seen both ways the shipped model is off by 0.14.
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}
AROUND = {"<|image_pad|>": ("<|vision_start|>", "<|vision_end|>")}  # what stands around an image: Qwen-VL
# What processors and forwards of other families raise when they are asked for something that they do not do.
FOREIGN = (TypeError, ValueError, KeyError, IndexError, AttributeError, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class Drawn:
    """Stands for an ImageSource."""

    height: int
    width: int

    @property
    def key(self) -> str:
        return f"drawn {self.height} x {self.width}"

    def load(self) -> Image.Image:
        rows, columns, channels = np.indices((self.height, self.width, 3))
        return Image.fromarray((rows * 3 + columns * 2 + channels * 80).astype(np.uint8))


IMAGES = (Drawn(64, 64), Drawn(64, 160))


def choose_path(model: Any, processor: Any, name: str) -> VisionLanguageModel:
    """The model on the fast path where that gives its own logits, else on its own forward; ModelError when neither."""
    frozen(model)
    why = "no path was tried"
    text = model.config.get_text_config()
    scales = ["", *(scale for scale in SCALES if getattr(text, scale, None) is not None)]
    for make, scale in product((_text_only, _fast, _own_forward), scales):
        try:
            vlm = VisionLanguageModel(model, processor, name, make(model, processor), scale)
            _check(vlm)
            return vlm
        except FOREIGN as error:
            why = str(error).strip().splitlines()[0][:160].rstrip(" .:") if str(error).strip() else type(error).__name__
    raise ModelError(f"cannot run model '{name}' ({model.config.model_type}): {why}; {SUPPORTED}")


def likely_path(model: Any, processor: Any) -> Path:
    """The fast path, unchecked: for a model without weights. ModelError when its images take a varying number of tokens."""
    return (_text_only if tokenizer_of(processor) is processor else _fast)(model, processor)


def _text_only(model: Any, processor: Any) -> Path:
    if tokenizer_of(processor) is not processor:
        raise ModelError("it reads images")
    return Fast(model, processor, OneLength("", -1, 0))


def _fast(model: Any, processor: Any) -> Path:
    token, text = _image_token(model), image_text(processor)
    ids = [_processed(processor, text, image)["input_ids"][0].tolist() for image in IMAGES]
    counts = {one.count(token) for one in ids}
    if len(counts) != 1 or counts == {0}:
        raise ModelError("its images take a varying number of tokens")
    return Fast(model, processor, OneLength(text, token, counts.pop()))


def _own_forward(model: Any, processor: Any) -> Path:
    layout = ByProcessor(model, processor, image_text(processor), _image_token(model), IMAGES[0].load())
    return OwnForward(model, layout)


def _image_token(model: Any) -> int:
    if (token := getattr(model.config, "image_token_id", None)) is None:
        raise ModelError("its configuration names no image token")
    return token


def image_text(processor: Any) -> str:
    """How the tokenizer writes one image."""
    token = getattr(processor, "image_token", PLACEHOLDER)
    before, after = AROUND.get(token, ("", ""))
    return before + token + after


def _processed(processor: Any, text: str, image: Drawn | None) -> Any:
    if image is None:
        return processor([text], return_tensors="pt")
    return processor(text=[text], images=[[image.load()]], return_tensors="pt")


@torch.no_grad()
def _check(vlm: VisionLanguageModel) -> None:
    """ModelError unless a padded batch has each prompt's own logits, and decoding in two steps those of one."""
    images = (None, None) if vlm.image_token < 0 else IMAGES
    words = zip(images, ("USER: {image}\n A cat", "{image} What is this?"), ("a cat and a dog", "cat"), strict=True)
    examples: list[Any] = [Example("probe", image, prompt, answer, ()) for image, prompt, answer in words]
    far = max(_distances(vlm, examples))
    if not far <= TOLERANCE.get(vlm.dtype, 0.05):
        raise ModelError(f"it gives other logits below its head (off by {far:.1e})")


def _distances(vlm: VisionLanguageModel, examples: list[Any]) -> Iterator[float]:
    encoded = [vlm.encode(example) for example in examples]
    seen = [vlm.path.see([one.image.load()])[0] for one in encoded if one.image is not None]
    ids = torch.full((len(encoded), max(map(len, encoded))), vlm.pad)
    for row, one in zip(ids, encoded, strict=True):
        row[: len(one)] = torch.from_numpy(one.input_ids)
    hidden = vlm.path.decode(vlm.path.inputs(ids.to(vlm.device), encoded, seen))
    for number, (example, one) in enumerate(zip(examples, encoded, strict=True)):
        text = render(example).replace(PLACEHOLDER, vlm.path.layout.image_text)
        given = _processed(vlm.processor, text, example.image).to(vlm.device)
        own = vlm.model(**{name: _typed(value, vlm.dtype) for name, value in given.items() if name != "labels"}).logits
        ours = hidden[number, : len(one)]
        yield _distance(vlm.head(ours[: one.answer_start]), own[0])
        asked = vlm.encode(example, with_answer=False)
        prompt = torch.from_numpy(asked.input_ids)[None].to(vlm.device)
        _, state = vlm.path.decode_on(vlm.path.inputs(prompt, [asked], seen[number : number + 1]))
        answer = torch.from_numpy(one.input_ids[None, one.answer_start :]).to(vlm.device)
        after, _ = vlm.path.decode_on(vlm.path.more(answer), state)
        yield _distance(vlm.head(after[0]), vlm.head(ours[one.answer_start :]))


def _typed(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value


def _distance(ours: torch.Tensor, own: torch.Tensor) -> float:
    return float((ours - own.float()).norm() / own.float().norm())
