"""OpenELM of our own: its published sizes, and its numbers against a computation in numpy that shares nothing with it."""

import numpy as np
import pytest

from fedrand.models.openelm import OpenELMForCausalLM, rotated, rotation
from fedrand.models.openelm_config import OpenELMConfig
from fedrand.models.runtime import torch

SIZE, HEAD, BASE = 32, 4, 10000.0


@pytest.fixture(scope="module")
def model():
    """Three layers of different width, float64, every weight random (also those of the norms)."""
    config = OpenELMConfig(
        vocab_size=20, model_dim=SIZE, num_transformer_layers=3, head_dim=HEAD, num_gqa_groups=2, ffn_dim_divisor=8
    )
    torch.manual_seed(0)
    made = OpenELMForCausalLM(config).double().eval().requires_grad_(False)
    for parameter in made.parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.4)
    return made


def normed(x, weight):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight


def turned(x, place):
    """One head's vector at one position: pair i, (x[i], x[i + n/2]), turned by place * base^(-2i/n)."""
    half = len(x) // 2
    out = np.empty_like(x)
    for i in range(half):
        angle = place * BASE ** (-2 * i / len(x))
        out[i] = x[i] * np.cos(angle) - x[i + half] * np.sin(angle)
        out[i + half] = x[i + half] * np.cos(angle) + x[i] * np.sin(angle)
    return out


def attended(x, weights, name, heads, kv):
    """Token by token and head by head."""
    fused = x @ weights[f"{name}.qkv_proj.weight"].T
    query, key, value = np.split(fused.reshape(len(x), -1, HEAD), [heads, heads + kv], axis=1)
    query, key = normed(query, weights[f"{name}.q_norm.weight"]), normed(key, weights[f"{name}.k_norm.weight"])
    rows = []
    for t in range(len(x)):
        row = []
        for head in range(heads):
            own = head // (heads // kv)
            scores = [turned(query[t, head], t) @ turned(key[s, own], s) / np.sqrt(HEAD) for s in range(t + 1)]
            share = np.exp(scores) / np.exp(scores).sum()
            row.append(share @ value[: t + 1, own])
        rows.append(np.concatenate(row))
    return np.array(rows) @ weights[f"{name}.out_proj.weight"].T


def fed(x, weights, name):
    both = x @ weights[f"{name}.proj_1.weight"].T
    gate, value = both[:, : both.shape[1] // 2], both[:, both.shape[1] // 2 :]
    return (gate / (1 + np.exp(-gate)) * value) @ weights[f"{name}.proj_2.weight"].T


def by_hand(model, ids):
    """Logits [T, V], float64."""
    weights = {name: value.numpy() for name, value in model.transformer.state_dict().items()}
    x = weights["token_embeddings.weight"][ids]
    for layer, (heads, kv) in enumerate(zip((4, 6, 8), (2, 3, 4), strict=True)):
        name = f"layers.{layer}"
        x = x + attended(normed(x, weights[f"{name}.attn_norm.weight"]), weights, f"{name}.attn", heads, kv)
        x = x + fed(normed(x, weights[f"{name}.ffn_norm.weight"]), weights, f"{name}.ffn")
    return normed(x, weights["norm.weight"]) @ weights["token_embeddings.weight"].T


IDS = np.array([3, 1, 19, 4, 4, 7, 0])


def logits(model, ids, **inputs):
    return model(torch.from_numpy(np.atleast_2d(ids)), **inputs).numpy()


def test_logits_are_those_computed_by_hand(model):
    np.testing.assert_allclose(logits(model, IDS)[0], by_hand(model, IDS), rtol=1e-9, atol=1e-9)


def test_a_later_token_changes_nothing_before_it(model):
    other = IDS.copy()
    other[4] = 9
    before, after = logits(model, IDS)[0], logits(model, other)[0]
    np.testing.assert_allclose(before[:4], after[:4], rtol=0, atol=1e-12)
    assert np.abs(before[4:] - after[4:]).max(-1).min() > 1e-3


@pytest.mark.parametrize("cut", [[1, 1, 1, 1, 1, 1, 1], [4, 1, 2], [3, 4]])
def test_decoding_piece_by_piece_with_a_cache_gives_the_logits_of_the_whole(model, cut):
    cache, start, found = None, 0, []
    for length in cut:
        piece = torch.from_numpy(IDS[start : start + length])[None]
        output = model.transformer(piece, past_key_values=cache, use_cache=True)
        cache, start = output.past_key_values, start + length
        found.append(model.lm_head(output.last_hidden_state))
    assert cache.get_seq_length() == len(IDS)
    np.testing.assert_allclose(torch.cat(found, 1)[0].numpy(), logits(model, IDS)[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_changes_no_real_token(model, side):
    padding, real = np.zeros(3, np.int64), np.ones_like(IDS)
    ids, mask = (np.concatenate((padding, row) if side == "left" else (row, padding)) for row in (IDS, real))
    other = np.where(mask, ids, 5)
    found = [logits(model, row, attention_mask=torch.from_numpy(mask)[None])[0] for row in (ids, other)]
    where = mask.astype(bool)
    np.testing.assert_allclose(found[0][where], logits(model, IDS)[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found[0][where], found[1][where])
    assert np.isfinite(found[0]).all()


def test_the_angles_of_half_precision_models_are_computed_in_full():
    turn = rotation(1500, 8, 64, BASE, torch.zeros(1, dtype=torch.bfloat16))
    assert turn[0].dtype == torch.float32
    angle = 1507 * BASE ** (-2 / 64)
    assert abs(float(turn[0][7, 1]) - np.cos(angle)) < 1e-3
    assert rotated(torch.ones(1, 1, 8, 64, dtype=torch.bfloat16), turn).dtype == torch.bfloat16


def published():
    with torch.device("meta"):
        return OpenELMForCausalLM(OpenELMConfig())


def test_openelm_450m_has_its_published_heads_widths_and_parameters():
    config = OpenELMConfig()
    assert config.num_query_heads == [12] * 3 + [16] * 7 + [20] * 6 + [24] * 4
    assert config.num_kv_heads == [3] * 3 + [4] * 7 + [5] * 6 + [6] * 4
    widths = "768 1024 1280 1536 1792 2304 2560 2816 3072 3328 3584 3840 4096 4352 4608 5120 5376 5632 5888 6144"
    assert config.ffn_widths == [int(width) for width in widths.split()]
    model = published()
    assert sum(parameter.numel() for parameter in model.parameters()) == 457_179_136
    assert model.lm_head.weight is model.transformer.token_embeddings.weight


def test_a_configuration_that_was_written_out_gives_the_same_model_again():
    given = [0.5, 0.68, 0.87, 1.05, 1.24, 1.42, 1.61, 1.79, 1.97, 2.16, 2.34, 2.53, 2.71, 2.89, 3.08]
    written = OpenELMConfig().to_dict()
    assert written["ffn_multipliers"] == [*given, 3.26, 3.45, 3.63, 3.82, 4.0]  # as in the published files
    again = OpenELMConfig(**written)
    assert (again.ffn_widths, again.num_kv_heads) == (OpenELMConfig().ffn_widths, OpenELMConfig().num_kv_heads)


def test_names_are_those_of_the_checkpoint():
    names = {name for name, _ in published().named_parameters()}
    parts = [
        "attn_norm",
        "attn.qkv_proj",
        "attn.q_norm",
        "attn.k_norm",
        "attn.out_proj",
        "ffn_norm",
        "ffn.proj_1",
        "ffn.proj_2",
    ]
    inside = {f"transformer.layers.{layer}.{part}.weight" for layer in range(20) for part in parts}
    assert names == inside | {"transformer.token_embeddings.weight", "transformer.norm.weight"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalize_qk_projections": False}, "normalize_qk_projections = False is not supported, only True"),
        ({"ffn_multipliers": (0.5, 1.0, 2.0)}, "3 multipliers for 20 layers"),
        ({"num_query_heads": [24] * 20}, "but qkv_multipliers give"),
    ],
)
def test_a_configuration_of_another_model_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        OpenELMConfig(**options)
