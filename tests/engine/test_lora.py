"""The adapter on the model: its gradients, its bank, and the base model underneath."""

import numpy as np
import pytest
from equipment import equipped, random_params

from fedrand.batch import answer_hidden, collate
from fedrand.lora import Adapter, Pair, _LoraLinear
from fedrand.models import ModelError, load_model
from fedrand.models.runtime import torch
from fedrand.params import Key, identical


@pytest.mark.parametrize("bias", [True, False])
def test_the_gradient_of_the_lora_linear_is_the_numerical_one(bias):
    torch.manual_seed(0)
    x, a, b = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 5), (2, 5), (4, 2)))
    weight, offset = torch.randn(4, 5, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    pair = Pair(a, b, scale=1.5)

    def layer(x, a, b):
        return _LoraLinear.apply(x, weight, offset if bias else None, a, b, pair)

    plain = x @ weight.T + (offset if bias else 0) + 1.5 * (x @ a.T) @ b.T
    torch.testing.assert_close(layer(x, a, b), plain)
    assert torch.autograd.gradcheck(layer, (x, a, b))


def logits(vlm, features, examples):
    with torch.no_grad():
        return vlm.head(answer_hidden(vlm, collate(vlm, features, [vlm.encode(example) for example in examples])))


def test_off_is_the_base_model_to_the_bit_and_on_is_not(folders, examples):
    vlm, adapter, features = equipped(load_model(str(folders["fast_vlm"])))
    base = load_model(str(folders["fast_vlm"]))
    plain = logits(base, features, examples)
    assert not torch.equal(logits(vlm, features, examples), plain)
    with adapter.off():
        assert torch.equal(logits(vlm, features, examples), plain)
    assert not torch.equal(logits(vlm, features, examples), plain)
    adapter.detach()
    assert torch.equal(logits(vlm, features, examples), plain)


def test_a_zero_b_is_the_base_model(engine, examples):
    vlm, adapter, features = engine
    adapter.load(adapter.initial(np.random.default_rng(0)))
    with adapter.off():
        plain = logits(vlm, features, examples)
    torch.testing.assert_close(logits(vlm, features, examples), plain, atol=1e-6, rtol=0)


def test_what_is_loaded_is_read_back_to_the_bit(engine):
    adapter = engine[1]
    params = random_params(adapter, seed=3)
    adapter.load(params)
    assert identical(adapter.read(), params)
    assert identical(adapter.named(adapter.vector(params).numpy()), params)


def test_the_bank_holds_every_a_before_every_b(engine):
    adapter = engine[1]
    factors = [key.factor for key in adapter.keys]
    assert factors == sorted(factors)
    first = adapter.shapes[adapter.keys[0]]
    assert torch.equal(adapter.flat[: first[0] * first[1]].view(first), adapter.pairs[0].a)


def test_missing_and_unexpected_tensors_are_errors_that_name_them(engine):
    adapter = engine[1]
    params = random_params(adapter)
    lost = params.pop(adapter.keys[5])
    with pytest.raises(ValueError, match=f"1 missing .{adapter.keys[5]}., 0 unexpected"):
        adapter.load(params)
    with pytest.raises(ValueError, match=r"0 missing, 1 unexpected .lm_head\.A."):
        adapter.load({**params, adapter.keys[5]: lost, Key("lm_head", "A"): lost})


def test_a_tensor_of_another_rank_is_an_error_that_names_it(engine):
    adapter = engine[1]
    params = random_params(adapter)
    params[adapter.keys[0]] = params[adapter.keys[0]][:4]
    with pytest.raises(ValueError, match=rf"tensor {adapter.keys[0]} has shape \(4, 32\), not \(8, 32\); use rank 8"):
        adapter.load(params)


def test_an_adapter_can_be_put_on_chosen_layers(fast_vlm):
    layer = "model.language_model.layers.1.mlp.down_proj"
    adapter = Adapter.attach(fast_vlm, rank=2, layers=[layer])
    assert adapter.shapes == {Key(layer, "A"): (2, 48), Key(layer, "B"): (32, 2)}
    adapter.detach()
    with pytest.raises(ModelError, match=r"no language linear 'lm_head' .* choose from model\.language_model"):
        Adapter.attach(fast_vlm, layers=["lm_head"])


def test_a_second_adapter_on_the_same_model_is_refused_until_the_first_is_gone(engine):
    vlm, adapter, _ = engine
    with pytest.raises(ModelError, match="has an adapter already; detach it first"):
        Adapter.attach(vlm)
    adapter.detach()
    Adapter.attach(vlm)


def test_a_16_bit_model_carries_a_float32_adapter(folders, examples):
    vlm, adapter, features = equipped(load_model(str(folders["fast_vlm"]), dtype="bfloat16"))
    single, params, other = equipped(load_model(str(folders["fast_vlm"])))
    assert all(value.dtype == np.float32 for value in adapter.read().values())
    assert identical(adapter.read(), params.read())
    near, exact = logits(vlm, features, examples), logits(single, other, examples)
    assert float((near - exact).norm() / exact.norm()) < 0.05
    vlm.head(answer_hidden(vlm, collate(vlm, features, [vlm.encode(examples[0])]))).sum().backward()
    assert adapter.grad.dtype == torch.float32 and bool(adapter.grad.any())
