"""A tiny random model of each family that runs on its own forward, and of two that read text only, as folders."""

from pathlib import Path

from tiny_models import CONTEXT, text_config, tokenizer
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3ImageProcessorPil,
    Gemma3Processor,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    Idefics3ImageProcessorPil,
    Idefics3Processor,
    LlamaForCausalLM,
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    LlavaOnevisionImageProcessorPil,
    LlavaOnevisionProcessor,
    PaliGemmaConfig,
    PaliGemmaForConditionalGeneration,
    PaliGemmaProcessor,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessorPil,
    Qwen2VLProcessor,
    SiglipImageProcessorPil,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)

from fedrand.models.processor import without_video
from fedrand.models.runtime import torch

LONG = 4 * CONTEXT
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": LONG,
    "tie_word_embeddings": True,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SIGLIP = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}


def save_family(folder: Path, family: str, seed: int = 0) -> Path:
    """A folder that load_model takes."""
    words = tokenizer(TOKENS[family], NAMED.get(family))
    torch.manual_seed(seed)
    model = MODELS[family](words).eval()
    for name, parameter in model.named_parameters():
        if "norm" not in name:
            parameter.data.mul_(3)  # the usual 0.02 would make every output nearly uniform
    model.save_pretrained(folder)
    PROCESSORS[family](words).save_pretrained(folder)
    return folder


def _ids(words, *names):
    return [words.convert_tokens_to_ids(name) for name in names]


def _llava_onevision(words):
    text = {"model_type": "qwen2", "vocab_size": len(words), **TEXT}
    vision = {"model_type": "siglip_vision_model", "vision_use_head": False, **SIGLIP}
    config = LlavaOnevisionConfig(
        vision_config=vision,
        text_config=text,
        image_token_id=_ids(words, "<image>")[0],
        video_token_id=_ids(words, "<video>")[0],
        image_grid_pinpoints=[[32, 32], [32, 64], [64, 32]],
        vision_feature_layer=-1,
        tie_word_embeddings=True,
    )
    return LlavaOnevisionForConditionalGeneration(config)


def _llava_onevision_processor(words):
    images = LlavaOnevisionImageProcessorPil(
        size={"height": 32, "width": 32}, image_grid_pinpoints=[[32, 32], [32, 64], [64, 32]]
    )
    kind = without_video(LlavaOnevisionProcessor)
    return kind(images, words, num_image_tokens=16, vision_feature_select_strategy="full")


QWEN = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")


def _qwen(words, config_class, model_class, vision):
    start, end, image, video = _ids(words, *QWEN)
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    config = config_class(
        text_config={"vocab_size": len(words), "rope_parameters": rope, **TEXT},
        vision_config=vision,
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        tie_word_embeddings=True,
    )
    return model_class(config)


def _qwen2_vl(words):
    vision = {"depth": 2, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, "patch_size": 8}
    return _qwen(words, Qwen2VLConfig, Qwen2VLForConditionalGeneration, vision)


def _qwen2_5_vl(words):
    vision = {
        "depth": 2,
        "hidden_size": 16,
        "out_hidden_size": 32,
        "intermediate_size": 24,
        "num_heads": 2,
        "patch_size": 8,
        "window_size": 32,
        "fullatt_block_indexes": [1],
    }
    return _qwen(words, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, vision)


def _qwen_processor(kind):
    def make(words):
        size = {"shortest_edge": 16 * 16 * 4, "longest_edge": 16 * 16 * 16}
        return without_video(kind)(Qwen2VLImageProcessorPil(size=size, patch_size=8, merge_size=2), words)

    return make


def _smolvlm(words):
    config = SmolVLMConfig(
        vision_config=SIGLIP,
        text_config={"model_type": "llama", "vocab_size": len(words), **TEXT},
        image_token_id=_ids(words, "<image>")[0],
        scale_factor=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    return SmolVLMForConditionalGeneration(config)


def _smolvlm_processor(words):
    """That of the first SmolVLM; the newer one's cannot be made without the package num2words."""
    images = Idefics3ImageProcessorPil(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    return Idefics3Processor(images, words, image_seq_len=4)


def _paligemma(words):
    text = {"model_type": "gemma", "vocab_size": len(words), "head_dim": 8, **TEXT}
    config = PaliGemmaConfig(
        vision_config={"model_type": "siglip_vision_model", "projection_dim": 32, "vision_use_head": False, **SIGLIP},
        text_config=text,
        projection_dim=32,
        image_token_id=_ids(words, "<image>")[0],
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return PaliGemmaForConditionalGeneration(config)


def _paligemma_processor(words):
    images = SiglipImageProcessorPil(size={"height": 32, "width": 32})
    images.image_seq_length = 16
    return PaliGemmaProcessor(images, words)


GEMMA = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}


def _gemma3(words):
    start, end, image = _ids(words, *GEMMA.values())
    text = {
        "vocab_size": len(words),
        "head_dim": 8,
        "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"],
        "final_logit_softcapping": 10.0,
        "query_pre_attn_scalar": 8,
        **TEXT,
    }
    config = Gemma3Config(
        vision_config={"vision_use_head": False, **SIGLIP},
        text_config=text,
        mm_tokens_per_image=4,
        boi_token_index=start,
        eoi_token_index=end,
        image_token_index=image,
        tie_word_embeddings=True,
    )
    return Gemma3ForConditionalGeneration(config)


def _gemma3_processor(words):
    return Gemma3Processor(Gemma3ImageProcessorPil(size={"height": 32, "width": 32}), words, image_seq_length=4)


def _gpt_neox(words):
    some = {name: value for name, value in TEXT.items() if name not in ("num_key_value_heads", "tie_word_embeddings")}
    return GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=len(words), **some))


MODELS = {
    "llava_onevision": _llava_onevision,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "smolvlm": _smolvlm,
    "paligemma": _paligemma,
    "gemma3": _gemma3,
    "llama": lambda words: LlamaForCausalLM(text_config()),
    "gpt_neox": _gpt_neox,
}
PROCESSORS = {
    "llava_onevision": _llava_onevision_processor,
    "qwen2_vl": _qwen_processor(Qwen2VLProcessor),
    "qwen2_5_vl": _qwen_processor(Qwen2_5_VLProcessor),
    "smolvlm": _smolvlm_processor,
    "paligemma": _paligemma_processor,
    "gemma3": _gemma3_processor,
    "llama": lambda words: words,
    "gpt_neox": lambda words: words,
}
SPLITS = tuple(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7))
TOKENS = {
    "llava_onevision": ("<video>",),
    "qwen2_vl": QWEN,
    "qwen2_5_vl": QWEN,
    "smolvlm": ("<fake_token_around_image>", "<end_of_utterance>", "<global-img>", *SPLITS),
    "paligemma": (),
    "gemma3": (),
    "llama": (),
    "gpt_neox": (),
}
NAMED = {"gemma3": GEMMA}
IMAGES = sorted(set(MODELS) - {"llama", "gpt_neox"})
