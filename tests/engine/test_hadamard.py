"""The Hadamard adapter: its gradients, the first pair alone, and the base model underneath."""

import numpy as np
import pytest
from equipment import equipped, random_params

from fedrand.batch import answer_hidden, collate
from fedrand.gradients import factor_gradients
from fedrand.hadamard import HadamardLinear, Product
from fedrand.lora import Adapter
from fedrand.models import load_model
from fedrand.models.runtime import torch
from fedrand.params import identical, norm
from fedrand.randomness import stream
from fedrand.train import TrainSettings, train

KINDS = ("hadamard", "hadamard+1")


def logits(vlm, features, examples):
    with torch.no_grad():
        return vlm.head(answer_hidden(vlm, collate(vlm, features, [vlm.encode(example) for example in examples])))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_the_gradient_of_the_hadamard_linear_is_the_numerical_one(bias, shift):
    torch.manual_seed(0)
    shapes = ((2, 3, 5), (2, 5), (4, 2), (2, 5), (4, 2))
    x, a, b, a2, b2 = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    weight, offset = torch.randn(4, 5, dtype=torch.float64), torch.randn(4, dtype=torch.float64)

    def layer(x, *factors):
        return HadamardLinear.apply(x, weight, offset if bias else None, *factors, Product(1.5, shift))

    plain = x @ (weight + 1.5 * (b @ a) * (b2 @ a2 + shift)).T + (offset if bias else 0)
    torch.testing.assert_close(layer(x, a, b, a2, b2), plain)
    assert torch.autograd.gradcheck(layer, (x, a, b, a2, b2))
    for factor in (a, b, a2, b2):
        factor.requires_grad_(False)
    assert torch.autograd.gradcheck(layer, (x, a, b, a2, b2))


@pytest.mark.parametrize("kind", KINDS)
def test_each_example_has_its_own_gradient_in_the_order_given(exact_vlm, examples, kind):
    vlm, adapter, features = equipped(exact_vlm, rank=3, scale=2.0, kind=kind)
    encoded, params = [vlm.encode(example) for example in examples], random_params(adapter, seed=5)
    for one, gradient in zip(
        encoded, list(factor_gradients(adapter, features, encoded, params, batch_size=5)), strict=True
    ):
        adapter.train_only(adapter.keys)
        adapter.grad.zero_()
        batch = collate(vlm, features, [one])
        torch.nn.functional.cross_entropy(vlm.head(answer_hidden(vlm, batch)), batch.targets).backward()
        expected = adapter.named(adapter.grad.numpy().copy())
        assert gradient.keys() == set(adapter.keys)
        assert all(np.any(gradient[key]) for key in adapter.keys)
        assert norm({key: gradient[key] - expected[key] for key in adapter.keys}) < 1e-9 * norm(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_only_b_starts_at_zero_and_that_is_the_base_model_to_the_bit(fast_vlm, examples, kind):
    vlm, adapter, features = equipped(fast_vlm, kind=kind)
    start = adapter.initial(stream(0))
    assert {key.factor for key, value in start.items() if not value.any()} == {"B"}
    adapter.load(start)
    with adapter.off():
        plain = logits(vlm, features, examples)
    assert torch.equal(logits(vlm, features, examples), plain)
    adapter.load(random_params(adapter))
    assert not torch.equal(logits(vlm, features, examples), plain)
    with adapter.off():
        assert torch.equal(logits(vlm, features, examples), plain)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_pairs_alone_are_lora_until_the_next_load(folders, examples, kind):
    vlm, adapter, features = equipped(load_model(str(folders["fast_vlm"])), kind=kind, scale=1.5)
    params, whole = random_params(adapter, seed=1), logits(vlm, features, examples)
    before = adapter.read()
    first = {key: value for key, value in params.items() if key.factor in ("A", "B")}
    plain, lora, own = equipped(load_model(str(folders["fast_vlm"])), scale=1.5)
    lora.load(first)
    adapter.load(first)
    assert torch.equal(logits(vlm, features, examples), logits(plain, own, examples))
    assert identical(adapter.read(), first)
    adapter.load(before)
    assert torch.equal(logits(vlm, features, examples), whole)


def test_half_of_a_second_pair_is_an_error_that_names_it(fast_vlm):
    _, adapter, _ = equipped(fast_vlm, kind="hadamard")
    params = random_params(adapter)
    del params[adapter.keys[-1]]
    with pytest.raises(ValueError, match=f"1 missing .{adapter.keys[-1]}., 0 unexpected"):
        adapter.load(params)


@pytest.mark.parametrize("kind", KINDS)
def test_training_moves_every_factor_and_lowers_the_loss(fast_vlm, examples, kind):
    vlm, adapter, features = equipped(fast_vlm, kind=kind)
    start, settings = adapter.initial(stream(0)), TrainSettings(lr=1e-2, batch_size=4, epochs=8)
    encoded = [vlm.encode(example) for example in examples]
    done = train(vlm, adapter, features, encoded, start, frozenset(adapter.keys), settings, stream(0, "order"))
    assert done.metrics["loss_last"] < 0.9 * done.metrics["loss_first"]
    assert all(not np.array_equal(done.params[key], start[key]) for key in adapter.keys)


def test_a_16_bit_model_carries_a_float32_hadamard_adapter(folders, examples):
    vlm, adapter, features = equipped(load_model(str(folders["fast_vlm"]), dtype="bfloat16"), kind="hadamard")
    exact, _, own = equipped(load_model(str(folders["fast_vlm"])), kind="hadamard")
    near, far = logits(vlm, features, examples), logits(exact, own, examples)
    assert float((near - far).norm() / far.norm()) < 0.05
    vlm.head(answer_hidden(vlm, collate(vlm, features, [vlm.encode(examples[0])]))).sum().backward()
    assert adapter.grad.dtype == torch.float32 and bool(adapter.grad.any())


def test_a_kind_names_its_factors_in_the_order_of_the_bank(fast_vlm):
    adapter = Adapter.attach(fast_vlm, kind="hadamard")
    factors = [key.factor for key in adapter.keys]
    assert list(dict.fromkeys(factors)) == ["A", "B", "A2", "B2"]
    assert len(factors) == 4 * len(adapter.layers)
