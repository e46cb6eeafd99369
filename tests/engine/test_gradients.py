"""Per-example gradients in one backward pass are those of one example at a time."""

import numpy as np
from equipment import equipped, random_params

from fedrand.batch import answer_hidden, collate
from fedrand.gradients import factor_gradients
from fedrand.models.runtime import torch
from fedrand.params import identical, norm


def one_by_one(vlm, adapter, features, encoded):
    """{Key: gradient} of one example's mean loss, by plain autograd."""
    batch = collate(vlm, features, [encoded])
    adapter.train_only(adapter.keys)
    adapter.grad.zero_()
    torch.nn.functional.cross_entropy(vlm.head(answer_hidden(vlm, batch)), batch.targets).backward()
    return adapter.named(adapter.grad.numpy().copy())


def test_each_example_has_its_own_gradient_in_the_order_given(exact_vlm, examples):
    vlm, adapter, features = equipped(exact_vlm, rank=3, scale=2.0)
    encoded = [vlm.encode(example) for example in examples]
    params = random_params(adapter, seed=5)
    found = list(factor_gradients(adapter, features, encoded, params, batch_size=5))
    assert len(found) == 12
    assert identical(adapter.read(), params)
    for one, gradient in zip(encoded, found, strict=True):
        expected = one_by_one(vlm, adapter, features, one)
        off = norm({key: gradient[key] - expected[key] for key in adapter.keys})
        assert off < 1e-9 * norm(expected) and norm(expected) > 0


def test_it_works_after_training_only_one_layer_and_leaves_training_as_it_was(engine, examples):
    vlm, adapter, features = engine
    encoded = [vlm.encode(example) for example in examples[:3]]
    adapter.train_only({key for key in adapter.keys if key.layer == adapter.layers[-1]})
    params = adapter.read()
    first = next(factor_gradients(adapter, features, encoded, params))
    assert all(np.any(value) for value in first.values())
    assert all(pair.rows is None for pair in adapter.pairs)
    assert not adapter.grad.any()
