"""A Llama out of a GGUF file: configuration, weights and byte-level tokenizer, dequantised and under transformers' names."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast

from fedrand.models.errors import ModelError
from fedrand.models.runtime import torch

CONTROL = 3  # a token's type in GGUF
OUTER = {"token_embd": "embed_tokens", "output_norm": "norm"}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


class Llama(NamedTuple):
    """config; weights of a LlamaModel, float32, by transformers' names; tokenizer."""

    config: LlamaConfig
    weights: dict[str, torch.Tensor]
    tokenizer: PreTrainedTokenizerFast


def read_llama(path: Path) -> Llama:
    """The model in a file. ModelError when the package gguf is missing; KeyError or ValueError when it is no such Llama."""
    try:
        import gguf
    except ImportError as error:
        raise ModelError(f"reading {path.name} needs the package gguf: pip install 'fedrand[smollm2]'") from error
    reader = gguf.GGUFReader(path)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    config, weights = _config(facts), dict[str, torch.Tensor]()
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for tensor in reader.tensors:
        value = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        part = tensor.name.split(".")[-2]
        weights[renamed(tensor.name)] = torch.from_numpy(unpermuted(value, heads[part]) if part in heads else value)
    return Llama(config, weights, _tokenizer(facts))


def renamed(name: str) -> str:
    """ "blk.3.attn_q.weight" -> "layers.3.self_attn.q_proj.weight". KeyError when a Llama has no such tensor."""
    layer = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if layer:
        return f"layers.{layer[1]}.{INNER[layer[2]]}.weight"
    return f"{OUTER[name.removesuffix('.weight')]}.weight"


def unpermuted(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows [heads * size, in] of a query or key in transformers' order.

    llama.cpp lays the two halves that RoPE turns together alternately, row by row: 0, n/2, 1, n/2 + 1, ... of each head.
    """
    rows, into = weight.shape
    return np.ascontiguousarray(weight.reshape(heads, rows // heads // 2, 2, into).swapaxes(1, 2).reshape(rows, into))


def _config(facts: dict[str, Any]) -> LlamaConfig:
    if (kind := facts["general.architecture"]) != "llama":
        raise ValueError(f"its architecture is {kind}, not llama")
    of = {name.removeprefix("llama."): value for name, value in facts.items() if name.startswith("llama.")}
    return LlamaConfig(
        vocab_size=of["vocab_size"],
        hidden_size=of["embedding_length"],
        intermediate_size=of["feed_forward_length"],
        num_hidden_layers=of["block_count"],
        num_attention_heads=of["attention.head_count"],
        num_key_value_heads=of["attention.head_count_kv"],
        max_position_embeddings=of["context_length"],
        rms_norm_eps=of["attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": of["rope.freq_base"]},
        tie_word_embeddings=True,
        bos_token_id=facts["tokenizer.ggml.bos_token_id"],
        eos_token_id=facts["tokenizer.ggml.eos_token_id"],
        pad_token_id=facts["tokenizer.ggml.padding_token_id"],
    )


def _tokenizer(facts: dict[str, Any]) -> PreTrainedTokenizerFast:
    """Byte-level BPE that takes digits one by one, as SmolLM2 was trained."""
    if (kind := facts["tokenizer.ggml.pre"]) != "smollm":
        raise ValueError(f"its tokenizer splits text as {kind}, not as smollm")
    tokens, merges = facts["tokenizer.ggml.tokens"], facts["tokenizer.ggml.merges"]
    pairs = [tuple(merge.split(" ")) for merge in merges]
    bpe = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=pairs))
    digits = pre_tokenizers.Digits(individual_digits=True)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    bpe.decoder = decoders.ByteLevel()
    special = [token for token, sort in zip(tokens, facts["tokenizer.ggml.token_type"], strict=True) if sort == CONTROL]
    begin, end, padding = (tokens[facts[f"tokenizer.ggml.{name}_token_id"]] for name in ("bos", "eos", "padding"))
    bpe.add_special_tokens(special)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=begin, eos_token=end, pad_token=padding, clean_up_tokenization_spaces=False
    )
