"""OpenELM as a transformers model of our own (Mehta et al., arXiv 2404.14619): no remote code, the checkpoint's own names.

A decoder whose layers grow with depth. Per layer: RMSNorm, grouped-query attention over one fused q|k|v linear with an
RMSNorm per head before RoPE, RMSNorm, SwiGLU over one fused linear. The head is the embedding.
"""

from typing import Any, NamedTuple

from transformers import DynamicCache, PreTrainedModel

from fedrand.models.openelm_config import OpenELMConfig
from fedrand.models.runtime import torch

nn, F, Tensor = torch.nn, torch.nn.functional, torch.Tensor
EPSILON = 1e-6  # of every RMSNorm


class OpenELMOutput(NamedTuple):
    """last_hidden_state [B, T, H]; past_key_values: what the tokens so far left behind."""

    last_hidden_state: Tensor
    past_key_values: DynamicCache | None


def rotation(start: int, length: int, head_dim: int, base: float, like: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines [T, head_dim] of RoPE at positions start, start + 1, ...; float32 at least."""
    kind = torch.promote_types(like.dtype, torch.float32)
    places = torch.arange(start, start + length, device=like.device, dtype=kind)
    speeds = base ** (-torch.arange(0, head_dim, 2, device=like.device, dtype=kind) / head_dim)
    angles = torch.outer(places, speeds).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotated(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """x [B, heads, T, head_dim] turned: element i of the first half with element i of the second."""
    cos, sin = turn
    wide = x.to(cos.dtype)
    first, second = wide.chunk(2, dim=-1)
    return (wide * cos + torch.cat([-second, first], dim=-1) * sin).to(x.dtype)


def visible(queries: int, keys: int, padding: Tensor | None, like: Tensor) -> Tensor | None:
    """Who may look at whom, bool [B or 1, 1, queries, keys]; None where plain causal attention says the same.

    padding [B, keys]: 0 where a key is padding.
    """
    if padding is not None and bool(padding.all()):
        padding = None
    if padding is None and (queries == keys or queries == 1):
        return None
    causal = torch.ones(queries, keys, dtype=torch.bool, device=like.device).tril(keys - queries)[None, None]
    return causal if padding is None else causal & padding.bool()[:, None, None, :]


class Attention(nn.Module):
    """Grouped-query attention of one layer."""

    def __init__(self, config: OpenELMConfig, layer: int) -> None:
        super().__init__()
        size, self.layer = config.head_dim, layer
        self.heads = (config.num_query_heads[layer], config.num_kv_heads[layer], config.num_kv_heads[layer])
        self.head_dim = size
        self.qkv_proj = nn.Linear(config.model_dim, sum(self.heads) * size, bias=False)
        self.q_norm, self.k_norm = nn.RMSNorm(size, EPSILON), nn.RMSNorm(size, EPSILON)
        self.out_proj = nn.Linear(self.heads[0] * size, config.model_dim, bias=False)

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None, cache: DynamicCache | None
    ) -> Tensor:
        """[B, T, H] -> [B, T, H]; keys and values go through `cache`, which may hold earlier ones."""
        batch, length, _ = x.shape
        fused = self.qkv_proj(x).view(batch, length, -1, self.head_dim).transpose(1, 2)
        query, key, value = fused.split(self.heads, dim=1)
        query, key = rotated(self.q_norm(query), turn), rotated(self.k_norm(key), turn)
        if cache is not None:
            key, value = cache.update(key, value, self.layer)
        groups = self.heads[0] // self.heads[1]
        key, value = (heads.repeat_interleave(groups, dim=1) for heads in (key, value))
        seen = F.scaled_dot_product_attention(query, key, value, mask, is_causal=mask is None and length > 1)
        return self.out_proj(seen.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    """SwiGLU of one layer; proj_1 makes gate and value together."""

    def __init__(self, config: OpenELMConfig, width: int) -> None:
        super().__init__()
        self.proj_1 = nn.Linear(config.model_dim, 2 * width, bias=False)
        self.proj_2 = nn.Linear(width, config.model_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """[..., H] -> [..., H]."""
        gate, value = self.proj_1(x).chunk(2, dim=-1)
        return self.proj_2(F.silu(gate) * value)


class Layer(nn.Module):
    """Attention and feed-forward, each on the normalised residual stream."""

    def __init__(self, config: OpenELMConfig, layer: int) -> None:
        super().__init__()
        self.attn, self.ffn = Attention(config, layer), FeedForward(config, config.ffn_widths[layer])
        self.attn_norm, self.ffn_norm = (nn.RMSNorm(config.model_dim, EPSILON) for _ in range(2))

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor | None, cache: DynamicCache | None
    ) -> Tensor:
        """[B, T, H] -> [B, T, H]."""
        x = x + self.attn(self.attn_norm(x), turn, mask, cache)
        return x + self.ffn(self.ffn_norm(x))


class OpenELMModel(PreTrainedModel):
    """Token ids or embeddings to last hidden states."""

    config_class = OpenELMConfig

    def __init__(self, config: OpenELMConfig) -> None:
        super().__init__(config)
        self.token_embeddings = nn.Embedding(config.vocab_size, config.model_dim)
        self.layers = nn.ModuleList(Layer(config, layer) for layer in range(config.num_transformer_layers))
        self.norm = nn.RMSNorm(config.model_dim, EPSILON)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.token_embeddings

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.token_embeddings = value

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: DynamicCache | None = None,
        use_cache: bool = False,
    ) -> OpenELMOutput:
        """Ids [B, T] or embeddings [B, T, H]; attention_mask [B, T and what the cache holds], 0 at padding."""
        x = self.token_embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        cache = DynamicCache() if use_cache and past_key_values is None else past_key_values
        past, length = cache.get_seq_length() if cache is not None else 0, x.shape[1]
        turn = rotation(past, length, self.config.head_dim, self.config.rope_freq_constant, x)
        mask = visible(length, past + length, attention_mask, x)
        for layer in self.layers:
            x = layer(x, turn, mask, cache)
        return OpenELMOutput(self.norm(x), cache)


class OpenELMForCausalLM(PreTrainedModel):
    """The decoder with its head, which is the embedding."""

    config_class = OpenELMConfig
    _tied_weights_keys = {"lm_head.weight": "transformer.token_embeddings.weight"}  # noqa: RUF012 - as above

    def __init__(self, config: OpenELMConfig) -> None:
        super().__init__(config)
        self.transformer = OpenELMModel(config)
        self.lm_head = nn.Linear(config.model_dim, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.transformer.token_embeddings

    def get_output_embeddings(self) -> nn.Linear:
        return self.lm_head

    def forward(self, input_ids: Tensor | None = None, **inputs: Any) -> Tensor:
        """Logits [B, T, V]."""
        return self.lm_head(self.transformer(input_ids, **inputs).last_hidden_state)
