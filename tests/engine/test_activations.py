"""Inputs and output gradients of the layers are those that make each example's own gradient."""

import numpy as np
from equipment import equipped, random_params

from fedrand.activations import touched
from fedrand.audit.updates.cosine import cosines
from fedrand.audit.updates.gradient import Gradients
from fedrand.gradients import factor_gradients
from fedrand.models.runtime import torch
from fedrand.params import Key, difference
from fedrand.score import token_scores


def test_gradients_are_made_of_the_inputs_and_output_gradients_of_each_layer(exact_vlm, examples):
    vlm, adapter, features = equipped(exact_vlm, rank=3, scale=2.0)
    encoded = [vlm.encode(example) for example in examples]
    params = random_params(adapter, seed=5)
    batches = list(touched(adapter, features, encoded, params, batch_size=5))
    assert [len(batch.losses) for batch in batches] == [5, 5, 2]
    known = factor_gradients(adapter, features, encoded, params)
    for batch in batches:
        for i in range(len(batch.losses)):
            expected = next(known)
            for layer in adapter.layers:
                x, g = batch.inputs[layer][i], batch.outputs[layer][i]
                a, b = params[Key(layer, "A")], params[Key(layer, "B")]
                assert np.allclose(2 * b.T @ g.T @ x, expected[Key(layer, "A")], atol=1e-12)
                assert np.allclose(2 * g.T @ (x @ a.T), expected[Key(layer, "B")], atol=1e-12)
                assert np.allclose(batch.gradients[Key(layer, "A")][i], expected[Key(layer, "A")], atol=1e-12)


def test_losses_are_those_of_the_scores_and_nothing_stays_behind(engine, examples):
    vlm, adapter, features = engine
    encoded = [vlm.encode(example) for example in examples]
    params = adapter.read()
    losses = np.concatenate([batch.losses for batch in touched(adapter, features, encoded, params, batch_size=5)])
    assert np.allclose(losses, [score.loss for score in token_scores(vlm, features, encoded)], atol=1e-5)
    assert all(pair.seen is None and not pair.watched for pair in adapter.pairs)


def test_padding_has_no_output_gradient(engine, examples):
    vlm, adapter, features = engine
    encoded = [vlm.encode(example) for example in examples]
    (batch,) = touched(adapter, features, encoded, adapter.read(), batch_size=12)
    for layer in adapter.layers:
        for one, gradient in zip(encoded, batch.outputs[layer], strict=True):
            assert not gradient[len(one) - 1 :].any() and gradient[len(one) - 2].any()


def test_the_step_of_sgd_on_one_example_has_cosine_one_with_its_gradient(engine, examples):
    vlm, adapter, features = engine
    encoded = [vlm.encode(example) for example in examples]
    start = adapter.read()
    own = next(factor_gradients(adapter, features, encoded, start))
    adapter.load(start)
    with torch.no_grad():
        adapter.flat.sub_(adapter.vector(own), alpha=0.05)
    sent = {key: value for key, value in difference(start, adapter.read()).items() if key.factor == "A"}
    (batch,) = touched(adapter, features, encoded, start, batch_size=12)
    found = cosines(Gradients({key: batch.gradients[key] for key in sent}), sent)
    assert abs(found[0] - 1) < 1e-4 and (found[1:] < 0.99).all()


def test_long_examples_come_in_smaller_batches_with_the_same_numbers(exact_vlm, examples):
    vlm, adapter, features = equipped(exact_vlm, rank=3, scale=2.0)
    encoded, params = [vlm.encode(example) for example in examples], random_params(adapter, seed=5)
    token = 8 * sum(pair.a.shape[1] + pair.b.shape[0] for pair in adapter.pairs)  # float64
    room = 3 * max(map(len, encoded))
    few = list(touched(adapter, features, encoded, params, held=room * token))
    (whole,) = touched(adapter, features, encoded, params)
    sizes = [len(batch.losses) for batch in few]
    assert sum(sizes) == len(examples) and max(sizes) >= 3
    assert all(len(b.losses) * next(iter(b.inputs.values())).shape[1] <= room for b in few)
    for key, rows in whole.gradients.items():
        assert np.allclose(np.concatenate([batch.gradients[key] for batch in few]), rows, atol=1e-12)
    alone = list(touched(adapter, features, encoded, params, held=1))
    assert [len(batch.losses) for batch in alone] == [1] * len(examples)
