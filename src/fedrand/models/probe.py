"""Whether running the language model on cached image features gives a model's own logits: asked of the model itself.

It holds for the LLaVA family (LLaVA, FastVLM and the like): features at the image tokens, one position per token. It
does not for models that place an image on two axes (Qwen2-VL) or that scale their logits: those are refused here.
"""

from typing import Any

import numpy as np
from PIL import Image

from fedrand.models.errors import ModelError
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel, image_text

SUPPORTED = "choose one of the LLaVA family (LLaVA, FastVLM), whose images are tokens like any other"
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}  # of the norm; 16-bit types: 0.05


def image_tokens(processor: Any, config: Any, name: str) -> int:
    """How many tokens an image takes; ModelError when that depends on its shape."""
    if getattr(config, "image_token_id", None) is None:
        raise ModelError(f"model '{name}' ({config.model_type}) has no image token; {SUPPORTED}")
    counts = {_ids(processor, shape).count(config.image_token_id) for shape in ((64, 64), (64, 160))}
    if len(counts) != 1 or counts == {0}:
        raise ModelError(f"model '{name}' ({config.model_type}) takes images at varying length; {SUPPORTED}")
    return counts.pop()


def _ids(processor: Any, shape: tuple[int, int]) -> list[int]:
    return _inputs(processor, shape)["input_ids"][0].tolist()


def _inputs(processor: Any, shape: tuple[int, int]) -> Any:
    return processor(text=f"USER: {image_text(processor)}\n A cat", images=_picture(*shape), return_tensors="pt")


def _picture(height: int, width: int) -> Image.Image:
    rows, columns, channels = np.indices((height, width, 3))
    return Image.fromarray((rows * 3 + columns * 2 + channels * 80).astype(np.uint8))


@torch.no_grad()
def check_path(vlm: VisionLanguageModel) -> None:
    """ModelError unless features, embeddings and head give the same logits as the model's forward on pixels."""
    inputs = _inputs(vlm.processor, (64, 64)).to(vlm.device)
    inputs["pixel_values"] = inputs["pixel_values"].to(vlm.dtype)
    own = vlm.model(**inputs).logits.float()
    ids = inputs["input_ids"]
    ours = vlm.head(vlm.decode(vlm.embed(ids, vlm.project(inputs["pixel_values"])))).float()
    far = float((ours - own).norm() / own.norm())
    if not far <= TOLERANCE.get(vlm.dtype, 0.05):
        kind = f"model '{vlm.name}' ({vlm.model.config.model_type})"
        raise ModelError(f"{kind} gives other logits on cached features (off by {far:.1e}); {SUPPORTED}")
