"""The tiny VLM as plain transformers objects: the tower, a small Llama and the processor of 160 x 160 pixels."""

from tokenizer import MAX_LENGTH, SPECIAL
from tower import IMAGE_SIZE
from transformers import (
    CLIPImageProcessorPil,
    EfficientNetModel,
    FastVlmForConditionalGeneration,
    LlamaConfig,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

from fedrand.models.assembly import joined, new_processor

PATCH = 53  # pixels per side of one image token, rounded down: 160 px give 3 x 3 tokens
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
    return joined(tower, text_config(vocabulary), SPECIAL.index("<image>"), IMAGE_TOKENS, seed)


def tiny_processor(tokenizer: PreTrainedTokenizerFast) -> LlavaProcessor:
    """160 x 160 pixels, (x - 127) / 128 as Lite0 was trained, nine <image> tokens in the place of one."""
    size = {"height": IMAGE_SIZE, "width": IMAGE_SIZE}
    images = CLIPImageProcessorPil(
        size=size,
        crop_size=size,
        do_center_crop=False,
        image_mean=[127 / 255] * 3,
        image_std=[128 / 255] * 3,
    )
    return new_processor(tokenizer, images, PATCH)
