"""OpenELM's configuration: how layer-wise scaling makes heads and widths (Mehta et al., arXiv 2404.14619)."""

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedConfig

FIXED = {  # what every published OpenELM has; another value would be another model
    "activation_fn_name": "swish",
    "ffn_with_glu": True,
    "normalization_layer_name": "rms_norm",
    "normalize_qk_projections": True,
    "share_input_output_layers": True,
}


def divisible(value: float, divisor: int) -> int:
    """The multiple of `divisor` nearest to `value`, at least one, and never less than 0.9 of it."""
    nearest = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * value else nearest


def multipliers(given: float | Sequence[float], layers: int) -> list[float]:
    """One per layer, from a number for all, from (first, last), or from a list of them all."""
    if isinstance(given, int | float):
        return [float(given)] * layers
    if len(given) == layers:
        return list(given)
    if len(given) != 2:
        raise ValueError(f"{len(given)} multipliers for {layers} layers; give one, (first, last), or {layers}")
    step = (given[1] - given[0]) / max(layers - 1, 1)
    return [round(given[0] + step * layer, 2) for layer in range(layers)]


class OpenELMConfig(PreTrainedConfig):
    """The keys of the published configurations; the defaults are OpenELM-450M.

    qkv_multipliers, ffn_multipliers: widths relative to model_dim, first and last layer or all of them.
    """

    model_type = "openelm"
    attribute_map = {  # noqa: RUF012 - transformers reads it from the class
        "hidden_size": "model_dim",
        "num_hidden_layers": "num_transformer_layers",
        "max_position_embeddings": "max_context_length",
    }

    def __init__(
        self,
        vocab_size: int = 32000,
        model_dim: int = 1536,
        num_transformer_layers: int = 20,
        head_dim: int = 64,
        num_gqa_groups: int = 4,
        qkv_multipliers: float | Sequence[float] = (0.5, 1.0),
        ffn_multipliers: float | Sequence[float] = (0.5, 4.0),
        ffn_dim_divisor: int = 256,
        max_context_length: int = 2048,
        rope_freq_constant: int = 10000,
        initializer_range: float = 0.02,
        bos_token_id: int = 1,
        eos_token_id: int = 2,
        **more: Any,
    ) -> None:
        for name, value in FIXED.items():
            if more.setdefault(name, value) != value:
                raise ValueError(f"OpenELM with {name} = {more[name]} is not supported, only {value}")
        self.vocab_size, self.model_dim, self.num_transformer_layers = vocab_size, model_dim, num_transformer_layers
        self.head_dim, self.num_gqa_groups, self.ffn_dim_divisor = head_dim, num_gqa_groups, ffn_dim_divisor
        self.qkv_multipliers = qkv_multipliers
        self.ffn_multipliers = multipliers(ffn_multipliers, num_transformer_layers)
        self.max_context_length, self.rope_freq_constant = max_context_length, rope_freq_constant
        self.initializer_range = initializer_range
        widths = [model_dim * m for m in multipliers(qkv_multipliers, num_transformer_layers)]
        self.num_query_heads = [divisible(width, head_dim * num_gqa_groups) // head_dim for width in widths]
        self.num_kv_heads = [heads // num_gqa_groups for heads in self.num_query_heads]
        for name in ("num_query_heads", "num_kv_heads"):
            if (stored := more.pop(name, None)) and list(stored) != getattr(self, name):
                raise ValueError(f"OpenELM with {name} = {stored}, but qkv_multipliers give {getattr(self, name)}")
        more.setdefault("tie_word_embeddings", True)
        super().__init__(bos_token_id=bos_token_id, eos_token_id=eos_token_id, **more)

    @property
    def ffn_widths(self) -> list[int]:
        """Width of each layer's feed-forward part."""
        return [divisible(share * self.model_dim, self.ffn_dim_divisor) for share in self.ffn_multipliers]
