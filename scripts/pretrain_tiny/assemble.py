"""The tiny VLM as plain transformers objects: tower, projector and a small Llama in `FastVlmForConditionalGeneration`."""

import os
import shutil
import tempfile
from pathlib import Path

import torch
from tokenizer import MAX_LENGTH, SPECIAL
from torch import Tensor
from tower import IMAGE_SIZE
from transformers import (
    CLIPImageProcessorPil,
    EfficientNetModel,
    FastVlmConfig,
    FastVlmForConditionalGeneration,
    LlamaConfig,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

PATCH = 32  # pixels per side of one image token: 96 px give 3 x 3 tokens
IMAGE_TOKENS = (IMAGE_SIZE // PATCH) ** 2


def text_config(vocabulary: int, dropout: float = 0.0) -> LlamaConfig:
    """A Llama of 1.3 M parameters: hidden 144, 4 layers of 4 heads, tied embeddings."""
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=144,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=MAX_LENGTH,
        attention_dropout=dropout,
        tie_word_embeddings=True,
        pad_token_id=SPECIAL.index("<pad>"),
        bos_token_id=SPECIAL.index("<s>"),
        eos_token_id=SPECIAL.index("</s>"),
    )


def new_model(tower: EfficientNetModel, vocabulary: int, seed: int) -> FastVlmForConditionalGeneration:
    """The given tower, with a projector and a Llama drawn from `seed`; in eval mode."""
    torch.manual_seed(seed)
    config = FastVlmConfig(
        vision_config=tower.config,
        text_config=text_config(vocabulary),
        image_token_index=SPECIAL.index("<image>"),
        image_seq_length=IMAGE_TOKENS,
        tie_word_embeddings=True,
        pad_token_id=SPECIAL.index("<pad>"),
        bos_token_id=SPECIAL.index("<s>"),
        eos_token_id=SPECIAL.index("</s>"),
    )
    model = FastVlmForConditionalGeneration(config)
    model.model.vision_tower.load_state_dict(tower.state_dict())
    model.model.vision_tower.requires_grad_(False)
    return model.eval()


def new_processor(tokenizer: PreTrainedTokenizerFast) -> LlavaProcessor:
    """96 x 96 pixels, (x - 127) / 128 as Lite0 was trained, nine <image> tokens in the place of one."""
    size = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    images = CLIPImageProcessorPil(
        size=size,
        crop_size=size,
        do_center_crop=False,
        image_mean=[127 / 255] * 3,
        image_std=[128 / 255] * 3,
    )
    return LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
    )


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
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    model.half().save_pretrained(fresh)
    processor.save_pretrained(fresh)
    widen_on_load(fresh / "config.json")
    if card:
        (fresh / "README.md").write_text(card)
    for file in fresh.iterdir():
        file.chmod(0o644)
    fresh.chmod(0o755)
    if folder.exists():
        shutil.rmtree(folder)
    os.replace(fresh, folder)


def widen_on_load(config: Path) -> None:
    config.write_text(config.read_text().replace('"float16"', '"float32"'))
