"""Local training: the same numbers as the plain PEFT loop, and the promises of a Learner."""

import math
from dataclasses import replace

import numpy as np
import pytest
from equipment import equipped, random_params
from reference_loop import PlainLoop
from torch.utils.checkpoint import checkpoint

from fedrand.models import load_model
from fedrand.models.load import quiet
from fedrand.models.runtime import torch
from fedrand.params import Key, difference, identical, norm
from fedrand.randomness import stream
from fedrand.round import ClientError
from fedrand.train import LocalLearner, TrainSettings, order, train

# PEFT 0.21 asks transformers for a property that is being renamed.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")

SETTINGS = TrainSettings(lr=1e-2, weight_decay=1e-2, batch_size=5, epochs=2)


def trained_by_both(folder, examples, dtype, proximal=0.0, scale=1.0):
    """(engine's Trained, plain loop's params and losses, start): the same data in the same order."""
    vlm, adapter, features = equipped(load_model(str(folder), dtype=dtype), rank=4, scale=scale)
    start = adapter.initial(stream(0, "start"))
    encoded = [vlm.encode(example) for example in examples]
    keys = frozenset(adapter.keys)
    ours = train(vlm, adapter, features, encoded, start, keys, SETTINGS, stream(0, "order"), proximal)
    with quiet():
        plain = PlainLoop.load(str(folder), 4, scale, dtype)
    plain.load_params(start)
    batches = order(len(examples), SETTINGS, stream(0, "order"))
    losses = plain.train(examples, batches, SETTINGS.lr, SETTINGS.weight_decay, proximal)
    return ours, plain.read_params(adapter.keys), losses, start


@pytest.mark.parametrize("family", ["fast_vlm", "llava"])
@pytest.mark.parametrize("proximal", [0.0, 0.5])
def test_a_round_in_float64_is_the_plain_peft_loop(folders, examples, family, proximal):
    ours, plain, losses, _ = trained_by_both(folders[family], examples, "float64", proximal)
    assert norm(difference64(ours.params, plain)) <= 1e-8 * norm(plain)
    assert ours.metrics["loss_first"] == pytest.approx(losses[0], rel=1e-9)
    assert ours.metrics["loss_mean"] == pytest.approx(np.mean(losses), rel=1e-7)
    assert ours.steps == len(losses) == 6


def test_a_scale_other_than_one_is_peft_s_alpha_over_r(folders, examples):
    ours, plain, _, _ = trained_by_both(folders["fast_vlm"], examples, "float64", scale=2.5)
    assert norm(difference64(ours.params, plain)) <= 1e-8 * norm(plain)


def test_a_round_in_float32_moves_as_the_plain_peft_loop_does(folders, examples):
    ours, plain, _, start = trained_by_both(folders["fast_vlm"], examples, "float32")
    moved = norm(difference(plain, start))
    assert norm(difference(ours.params, plain)) < 1e-3 * moved
    assert ours.metrics["update_norm"] == pytest.approx(moved, rel=1e-3)


def difference64(left, right):
    return {key: left[key] - right[key] for key in left}


def run(engine, examples, trained=None, settings=SETTINGS, seed=0):
    vlm, adapter, features = engine
    encoded = [vlm.encode(example) for example in examples]
    keys = frozenset(adapter.keys) if trained is None else trained
    return train(vlm, adapter, features, encoded, random_params(adapter), keys, settings, stream(seed, "order"))


def test_the_same_seed_twice_gives_the_same_bits_also_in_a_fresh_model(folders, examples):
    first = run(equipped(load_model(str(folders["fast_vlm"]))), examples)
    again = equipped(load_model(str(folders["fast_vlm"])))
    again[2].prepare([example.image for example in reversed(examples)])
    run(again, examples, seed=1)
    second = run(again, examples)
    assert identical(first.params, second.params)
    assert dict(first.metrics) == dict(second.metrics)


@pytest.mark.parametrize("factor", ["A", "B"])
def test_tensors_that_are_not_trained_keep_their_bits(engine, examples, factor):
    adapter = engine[1]
    start = random_params(adapter)
    chosen = frozenset(key for key in adapter.keys if key.factor == factor)
    params = run(engine, examples, chosen).params
    for key in adapter.keys:
        assert np.array_equal(params[key], start[key]) == (key not in chosen)


def test_one_layer_alone_can_be_trained(engine, examples):
    adapter = engine[1]
    chosen = frozenset(key for key in adapter.keys if key.layer == adapter.layers[2])
    params, start = run(engine, examples, chosen).params, random_params(adapter)
    assert {key for key in adapter.keys if not np.array_equal(params[key], start[key])} == chosen


def test_one_factor_is_one_slice_of_the_bank(engine):
    adapter = engine[1]
    half = [key for key in adapter.keys if key.factor == "A"]
    spans = adapter.train_only(frozenset(half))
    assert not any(pair.b.requires_grad for pair in adapter.pairs)
    assert spans == [slice(0, sum(math.prod(adapter.shapes[key]) for key in half))]


def test_what_training_hands_back_is_no_view_of_the_bank(engine, examples):
    params = run(engine, examples).params
    before = {key: value.copy() for key, value in params.items()}
    engine[1].flat.zero_()
    assert identical(params, before)


def test_text_without_an_image_trains_beside_images(engine, examples):
    mixed = [replace(example, image=None) if number % 2 else example for number, example in enumerate(examples)]
    assert math.isfinite(run(engine, mixed).metrics["loss_last"])
    assert math.isfinite(run(engine, [replace(example, image=None) for example in examples]).metrics["loss_last"])


def test_an_epoch_visits_every_example_once_and_the_next_in_another_order():
    batches = list(order(10, TrainSettings(batch_size=4, epochs=2), stream(0)))
    assert [len(batch) for batch in batches] == [4, 4, 2, 4, 4, 2]
    first, second = ([i for batch in half for i in batch] for half in (batches[:3], batches[3:]))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def test_max_steps_bounds_the_steps_of_a_round():
    assert len(list(order(10, TrainSettings(batch_size=4, epochs=2, max_steps=4), stream(0)))) == 4


def test_training_lowers_the_loss(engine, examples):
    metrics = run(engine, examples, settings=TrainSettings(lr=1e-2, batch_size=4, epochs=8)).metrics
    assert metrics["loss_last"] < 0.7 * metrics["loss_first"]


def test_no_example_is_an_error(engine):
    with pytest.raises(ClientError, match="no example to train on"):
        run(engine, [])


def test_a_loss_that_breaks_is_an_error_that_names_the_step(engine, examples):
    with pytest.raises(ClientError, match=r"the loss is (nan|inf) at step [2-9]; lower train.lr"):
        run(engine, examples, settings=TrainSettings(lr=1e30, batch_size=2, epochs=2))


def test_a_model_whose_adapter_gets_no_gradient_is_an_error_at_the_first_step(engine, examples):
    with engine[1].off(), pytest.raises(ClientError, match="the loss reaches none of the tensors"):
        run(engine, examples)


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad:UserWarning")
def test_a_base_wrapped_for_gradient_checkpointing_that_cuts_the_gradient_is_an_error(engine, examples):
    def wrapped(forward):
        return lambda *given, **named: checkpoint(lambda *some: forward(*some, **named), *given, use_reentrant=True)

    for layer in engine[0].model.model.language_model.layers:
        layer.forward = wrapped(layer.forward)
    with pytest.raises(ClientError, match="the loss reaches none of the tensors"):
        run(engine, examples)


def test_a_broken_start_is_not_blamed_on_the_rate_alone(engine, examples):
    vlm, adapter, features = engine
    start = {key: value * np.nan for key, value in random_params(adapter).items()}
    encoded = [vlm.encode(example) for example in examples]
    with pytest.raises(ClientError, match=r"nan at step 1; the adapter it began with is broken: .*privacy\.noise"):
        train(vlm, adapter, features, encoded, start, frozenset(adapter.keys), SETTINGS, stream(0))


def test_a_learner_starts_with_b_zero_and_a_as_peft_draws_it(engine):
    vlm, adapter, features = engine
    learner = LocalLearner(vlm, adapter, features, [], SETTINGS)
    params = learner.initial(stream(0))
    assert identical(params, learner.initial(stream(0)))
    assert not identical(params, learner.initial(stream(1)))
    for key, value in params.items():
        assert value.dtype == np.float32
        bound = 1 / math.sqrt(value.shape[1])
        assert (0.9 * bound < np.abs(value).max() <= bound) if key.factor == "A" else not value.any()


def test_a_learner_trains_its_own_examples(engine, examples):
    vlm, adapter, features = engine
    learner = LocalLearner(vlm, adapter, features, [vlm.encode(example) for example in examples], SETTINGS)
    result = learner.train(random_params(adapter), frozenset(adapter.keys), stream(0, "order"), 0.0)
    assert identical(result.params, run(engine, examples).params)
    assert result.num_examples == 12


def test_the_adapter_is_attached_to_the_language_model_only(engine):
    layers = {key.layer for key in engine[1].keys}
    assert len(layers) == 2 * 7
    assert all(layer.startswith("model.language_model.layers.") for layer in layers)
    assert Key("model.language_model.layers.0.self_attn.q_proj", "A") in engine[1].keys
    assert not any(parameter.requires_grad for parameter in engine[0].model.parameters())
    assert torch.get_num_threads() == 1
