"""Two families of vision-language model with random weights and a tokenizer of their own, as folders on disk."""

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    EfficientNetConfig,
    FastVlmConfig,
    FastVlmForConditionalGeneration,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

from fedrand.models.runtime import torch

SPECIAL = ("<pad>", "<s>", "</s>", "<image>")
PIXELS = 32
CONTEXT = 96


def save_model(folder: Path, family: str, seed: int = 0) -> Path:
    """A folder that AutoModelForImageTextToText and AutoProcessor load: family "fast_vlm" or "llava"."""
    make, patch, extra = FAMILIES[family]
    torch.manual_seed(seed)
    model = make().eval()
    for _, parameter in model.named_parameters():
        parameter.data.mul_(3)  # the usual 0.02 would make every output nearly uniform
    _settle(model.model.vision_tower)
    model.save_pretrained(folder)
    _processor(patch, extra).save_pretrained(folder)
    return folder


@torch.no_grad()
def _settle(tower: torch.nn.Module) -> None:
    """Convolutions and BatchNorm statistics as training would leave them; without, every image would look alike."""
    for module in tower.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(module.weight)
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None  # the mean over all batches seen
            torch.nn.init.ones_(module.weight)
    tower.train()(torch.randn(16, 3, PIXELS, PIXELS))
    tower.eval()


def text_config() -> LlamaConfig:
    return LlamaConfig(
        vocab_size=len(SPECIAL) + 256 + 40,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )


def _fast_vlm() -> FastVlmForConditionalGeneration:
    vision = EfficientNetConfig(
        image_size=PIXELS,
        in_channels=[8, 8],
        out_channels=[8, 16],
        kernel_sizes=[3, 3],
        strides=[2, 2],
        num_block_repeats=[1, 1],
        expand_ratios=[1, 2],
        width_coefficient=0.25,
        depth_coefficient=1.0,
        hidden_dim=320,
        hidden_size=320,
        depthwise_padding=[],
        drop_connect_rate=0.0,
        dropout_rate=0.0,
    )
    config = FastVlmConfig(vision_config=vision, text_config=text_config(), image_token_index=3)
    return FastVlmForConditionalGeneration(config)


def _llava() -> LlavaForConditionalGeneration:
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=PIXELS,
        patch_size=16,
    )
    config = LlavaConfig(vision_config=vision, text_config=text_config(), image_token_index=3)
    return LlavaForConditionalGeneration(config)


# family: constructor, pixels per side of an image token, tokens the processor counts beyond the patches
FAMILIES = {"fast_vlm": (_fast_vlm, 8, 0), "llava": (_llava, 16, 1)}


def _processor(patch: int, extra: int) -> LlavaProcessor:
    size = {"height": PIXELS, "width": PIXELS}
    images = CLIPImageProcessorPil(size=size, crop_size=size, do_center_crop=False)
    strategy = "default" if extra else "full"
    return LlavaProcessor(
        images,
        tokenizer(),
        patch_size=patch,
        vision_feature_select_strategy=strategy,
        num_additional_image_tokens=extra,
    )


def tokenizer(more: tuple[str, ...] = (), named: dict[str, str] | None = None) -> PreTrainedTokenizerFast:
    """Byte-level BPE; `more` special tokens are added behind it, and some that the tokenizer knows by a name."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    text = "Briefly describe given image. USER: A short image description: ASSISTANT: a red cat and a blue dog"
    trainer = trainers.BpeTrainer(
        vocab_size=len(SPECIAL) + 256 + 40,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator([text] * 4, trainer)
    bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=["<image>", *more],
        **({"extra_special_tokens": named} if named else {}),
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
