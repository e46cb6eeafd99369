"""A TinyLLaVA folder as it is published, but tiny and with random weights: its config.json, names and tokenizer."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import CLIPVisionConfig, CLIPVisionModel, LlamaTokenizer

from fedrand.models.runtime import torch

VISION, WIDTH, HEAD, LAYERS, GROUPS = 16, 64, 8, 3, 2
HEADS, KV_HEADS, FFN = (4, 6, 8), (2, 3, 4), (32, 144, 256)
TEXT = "Briefly describe given image. USER: A short image description: ASSISTANT: a red cat and a blue dog"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
VOCABULARY = 3 + 256 + 60


def save_tinyllava(folder: Path, connector: str = "mlp2x_gelu", seed: int = 0) -> Path:
    """A folder that `load_model` reads; weights in fp16, as published."""
    rng = np.random.default_rng(seed)
    (folder / "config.json").write_text(json.dumps(config(connector)))
    shapes = {**language(), **connectors(connector), **tower()}
    weights = {name: rng.normal("norm.weight" in name, 0.2, shape).astype(np.float16) for name, shape in shapes.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer().save_pretrained(folder)
    return folder


def config(connector: str) -> dict:
    """The published keys, also those that nobody here needs."""
    return {
        "architectures": ["TinyLlavaForConditionalGeneration"],
        "auto_map": {
            "AutoConfig": "configuration.TinyLlavaConfig",
            "AutoModelForCausalLM": "modeling_tinyllava_elm.TinyLlavaForConditionalGeneration",
        },
        "connector_type": connector,
        "hidden_size": WIDTH,
        "image_aspect_ratio": "square",
        "image_token_index": -200,
        "llm_model_name_or_path": "apple/OpenELM-450M-Instruct",
        "model_type": "tinyllava",
        "num_queries": 128,
        "pad_token": "<unk>",
        "pad_token_id": 0,
        "text_config": {
            "activation_fn_name": "swish",
            "ffn_dim_divisor": 16,
            "ffn_multipliers": [0.5, 2.25, 4.0],
            "ffn_with_glu": True,
            "head_dim": HEAD,
            "max_context_length": 512,
            "model_dim": WIDTH,
            "model_type": "openelm",
            "normalization_layer_name": "rms_norm",
            "normalize_qk_projections": True,
            "num_gqa_groups": GROUPS,
            "num_kv_heads": list(KV_HEADS),
            "num_query_heads": list(HEADS),
            "num_transformer_layers": LAYERS,
            "qkv_multipliers": [0.5, 1.0],
            "rope_freq_constant": 10000,
            "share_input_output_layers": True,
            "torch_dtype": "float16",
            "vocab_size": VOCABULARY,
        },
        "tokenizer_use_fast": False,
        "torch_dtype": "float16",
        "vision_config": {
            "hidden_size": VISION,
            "image_size": 32,
            "intermediate_size": 24,
            "model_name_or_path": "openai/clip-vit-base-patch16",
            "model_type": "clip_vision_model",
            "num_attention_heads": 2,
            "num_hidden_layers": 3,
            "patch_size": 16,
        },
        "vision_feature_layer": -2,
        "vision_feature_select_strategy": "patch",
        "vision_model_name_or_path": "openai/clip-vit-base-patch16",
        "vocab_size": VOCABULARY,
    }


def language() -> dict[str, tuple[int, ...]]:
    shapes = {"token_embeddings": (VOCABULARY, WIDTH), "norm": (WIDTH,)}
    for layer, (heads, kv, ffn) in enumerate(zip(HEADS, KV_HEADS, FFN, strict=True)):
        parts = {
            "attn_norm": (WIDTH,),
            "attn.qkv_proj": ((heads + 2 * kv) * HEAD, WIDTH),
            "attn.q_norm": (HEAD,),
            "attn.k_norm": (HEAD,),
            "attn.out_proj": (WIDTH, heads * HEAD),
            "ffn_norm": (WIDTH,),
            "ffn.proj_1": (2 * ffn, WIDTH),
            "ffn.proj_2": (WIDTH, ffn),
        }
        shapes |= {f"layers.{layer}.{name}": shape for name, shape in parts.items()}
    return {f"language_model.transformer.{name}.weight": shape for name, shape in shapes.items()}


def connectors(kind: str) -> dict[str, tuple[int, ...]]:
    linears = {"linear": {"": VISION}, "mlp2x_gelu": {".0": VISION, ".2": WIDTH}}[kind]
    prefix = "connector._connector"
    weights = {f"{prefix}{place}.weight": (WIDTH, wide) for place, wide in linears.items()}
    return weights | {f"{prefix}{place}.bias": (WIDTH,) for place in linears}


def tower() -> dict[str, tuple[int, ...]]:
    """CLIP's names as they were when the checkpoint was written."""
    with torch.device("meta"):
        clip = CLIPVisionModel(CLIPVisionConfig(**config("linear")["vision_config"]))
    names = {name.removeprefix("vision_model."): tuple(value.shape) for name, value in clip.named_parameters()}
    return {f"vision_tower._vision_tower.vision_model.{name}": shape for name, shape in names.items()}


def tokenizer() -> LlamaTokenizer:
    """Llama's kind: spaces as a mark, unknown characters as bytes, <unk> <s> </s> first."""
    bpe = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    bpe.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    special = ["<unk>", "<s>", "</s>", *BYTES]
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
    bpe.train_from_iterator([TEXT] * 4, trainer)
    learnt = json.loads(bpe.to_str())["model"]
    assert len(learnt["vocab"]) == VOCABULARY
    merges = [tuple(pair) for pair in learnt["merges"]]
    return LlamaTokenizer(vocab=learnt["vocab"], merges=merges, pad_token="<unk>")
