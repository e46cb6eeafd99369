"""A vision tower, a projector and a Llama joined in transformers' `FastVlmForConditionalGeneration`, and its folder."""

from pathlib import Path
from typing import Any

from transformers import (
    EfficientNetModel,
    FastVlmConfig,
    FastVlmForConditionalGeneration,
    LlamaConfig,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

from fedrand.models.runtime import torch
from fedrand.tensorfile import whole_folder

Tensor = torch.Tensor
BATCH = 4  # images at a time; the maps of more do not stay in a processor's cache


def joined(
    tower: EfficientNetModel, text: LlamaConfig, image_token: int, image_tokens: int, seed: int
) -> FastVlmForConditionalGeneration:
    """The given tower, with a projector and a Llama drawn from `seed`; in eval mode."""
    config = FastVlmConfig(
        vision_config=tower.config,
        text_config=text,
        image_token_index=image_token,
        image_seq_length=image_tokens,
        tie_word_embeddings=True,
        pad_token_id=text.pad_token_id,
        bos_token_id=text.bos_token_id,
        eos_token_id=text.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = FastVlmForConditionalGeneration(config)
    model.model.vision_tower.load_state_dict(tower.state_dict())
    model.model.vision_tower.requires_grad_(False)
    return model.eval()


def new_processor(tokenizer: PreTrainedTokenizerFast, images: Any, patch_size: int) -> LlavaProcessor:
    """One <image> token for every `patch_size` x `patch_size` pixels, in the place of one."""
    return LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=patch_size,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
    )


@torch.no_grad()
def tower_features(tower: EfficientNetModel, processor: LlavaProcessor, images: list) -> Tensor:
    """Feature maps of RGB images as tokens in fp16, (images, tokens, 1280); the tower must be in eval mode."""
    if tower.training:
        raise ValueError("the tower is in training mode: its BatchNorm statistics would be overwritten")
    parts = []
    for start in range(0, len(images), BATCH):
        pixels = processor.image_processor(images[start : start + BATCH], return_tensors="pt")["pixel_values"]
        parts.append(tower(pixels).last_hidden_state.flatten(2).transpose(1, 2).half())
    return torch.cat(parts)


def normalisation(features: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation per channel of features (..., 1280); the latter at least .05."""
    flat = features.float().flatten(0, -2)
    return flat.mean(0), flat.std(0).clamp_min(0.05)


@torch.no_grad()
def fold_normalisation(model: FastVlmForConditionalGeneration, mean: Tensor, std: Tensor) -> None:
    """Make the projector, trained on (x - mean) / std of shape (..., 1280), read raw features x instead."""
    first = model.model.multi_modal_projector.linear_1
    first.weight.div_(std)
    first.bias.sub_(first.weight @ mean)


def save(model: FastVlmForConditionalGeneration, processor: LlavaProcessor, folder: Path, card: str = "") -> None:
    """Replace `folder` in one step by the fp16 model, its processor and its card; every file readable by all.

    The configuration keeps float32, so a plain `from_pretrained` widens the weights on load.
    """
    with whole_folder(folder) as fresh:
        model.half().save_pretrained(fresh)
        processor.save_pretrained(fresh)
        _widen_on_load(fresh / "config.json")
        if card:
            (fresh / "README.md").write_text(card)


def _widen_on_load(config: Path) -> None:
    config.write_text(config.read_text().replace('"float16"', '"float32"'))
