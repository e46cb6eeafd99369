"""Scores of one model: how many passes they take, and that nothing but a number per attack outlives a few examples."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from fedrand.audit import scoring
from fedrand.audit import shadows as shadow_clients
from fedrand.audit.attacks import score_attacks
from fedrand.audit.scoring import likelihoods, scored
from fedrand.audit.shadows import ATTACKS, shadow_scores, shadows
from fedrand.data.example import DataError, Example, ImageSource
from fedrand.datasets import Dataset
from fedrand.lora import Adapter
from fedrand.models import ImageFeatures, load_model
from fedrand.models.load import quiet
from fedrand.params import identical
from fedrand.settings import Recipe
from fedrand.train import train
from fedrand.world import World, train_settings

sys.path.append(str(Path(__file__).parents[1] / "engine"))

TEXTS = ("a red cat", "A dog", "a blue dog", "an image", "cat", "a short description")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    from tiny_models import save_model

    with quiet():
        folder = save_model(tmp_path_factory.mktemp("model"), "fast_vlm")
    vlm = load_model(str(folder), dtype="float64")
    recipe = Recipe.model_validate({"strategy": {"name": "fedrand"}, "evaluate": {"max_new_tokens": 5}})
    return World(recipe, vlm, Adapter.attach(vlm), ImageFeatures(vlm), {}, Dataset((), {}, {}))


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    made = []
    for number in range(14):
        path, text = folder / f"{number}.png", TEXTS[number % len(TEXTS)]
        Image.fromarray(rng.integers(0, 256, (32, 32, 3), np.uint8)).save(path)
        made.append(Example(f"e{number}", ImageSource(path), "coco", text, (text,)))
    return made


@pytest.fixture
def passes(world, monkeypatch):
    """Counts examples: forward passes over prompt and answer, decodings, and the largest number held at once."""
    count = SimpleNamespace(forward=0, decoded=0, most=0)
    forward, decode = scoring.token_scores, scoring.descriptions

    def counted(name, whole):
        def call(vlm, features, encoded, *more):
            setattr(count, name, getattr(count, name) + len(encoded))
            count.most = max(count.most, len(encoded))
            return whole(vlm, features, encoded, *more)

        return call

    monkeypatch.setattr(scoring, "token_scores", counted("forward", forward))
    monkeypatch.setattr(scoring, "descriptions", counted("decoded", decode))
    return count


def table(examples, family="all"):
    return score_attacks((0, 10), family, examples)


def test_one_forward_pass_and_one_decoding_serve_every_attack(world, examples, passes):
    attacks = table(examples, "paper")
    scored(world, examples, world.initial().params, attacks)
    cased = sum(example.answer != example.answer.lower() for example in examples)
    assert not any(attack.reason for attack in attacks) and cased > 0
    assert passes.forward == len(examples) + cased <= 1.3 * len(examples)
    assert passes.decoded == len(examples)


def test_what_no_attack_needs_is_not_computed(world, examples, passes):
    scored(world, examples, None, [attack for attack in table(examples) if attack.slice == "image"])
    assert (passes.forward, passes.decoded) == (len(examples), 0)


def test_only_a_chunk_of_examples_is_held_at_a_time_and_the_scores_are_the_same(world, examples, passes, monkeypatch):
    attacks = table(examples)
    whole = scored(world, examples, None, attacks)
    assert passes.most == len(examples)
    passes.most = 0
    monkeypatch.setattr(scoring, "CHUNK", 3)
    parts = scored(world, examples, None, attacks)
    assert passes.most == 3
    assert list(whole.places) == list(parts.places) == [example.id for example in examples]
    assert whole.values.keys() == parts.values.keys() == {(attack.name, attack.slice) for attack in attacks}
    for slot, values in whole.values.items():
        assert values == pytest.approx(parts.values[slot], abs=1e-9), slot
        assert [whole.of(slot, example.id) for example in examples] == values.tolist()


def test_an_attack_that_does_not_apply_is_not_scored(world, examples):
    lower = [replace(example, answer=example.answer.lower()) for example in examples]
    assert ("lowercase", "answer") not in scored(world, lower, None, table(lower)).values


def test_likelihoods_are_minus_the_losses(world, examples):
    params = world.initial().params
    losses = scored(world, examples, params, table(examples)).values["loss", "answer"]
    assert likelihoods(world, examples, params) == pytest.approx(losses)


def test_the_reference_codes_clamp_changes_the_entropies_alone(world, examples):
    clamped = replace(
        world, recipe=Recipe.model_validate({"strategy": {"name": "fedrand"}, "audit": {"renyi": "vlmia"}})
    )
    few = examples[:3]
    exact, other = (scored(some, few, None, table(few)).values for some in (world, clamped))
    changed = {
        name.split("-")[0].split(" ")[0]
        for (name, where), values in exact.items()
        if not np.array_equal(values, other[name, where])
    }
    assert "MaxRenyi" in changed and changed <= {"MaxRenyi", "ModRenyi"}


@pytest.fixture
def trainable(world, examples):
    """The world with auxiliary data, and a rate at which a few steps leave their mark."""
    tables = {"strategy": {"name": "fedrand"}, "train": {"lr": 0.01, "epochs": 6, "batch_size": 4}}
    return replace(world, recipe=Recipe.model_validate(tables), dataset=Dataset((), {}, {}, tuple(examples[8:])))


def test_shadows_are_trained_from_the_known_start_on_auxiliary_data_alone(trainable, examples, monkeypatch):
    used, whole = [], shadow_clients.train

    def noted(vlm, adapter, features, encoded, *more):
        used.append({one.id for one in encoded})
        return whole(vlm, adapter, features, encoded, *more)

    monkeypatch.setattr(shadow_clients, "train", noted)
    start = trainable.initial().params
    made, again = (shadows(trainable, start, 3, 4, np.random.default_rng(0)) for _ in range(2))
    assert all(len(ids) == 4 and ids <= {e.id for e in examples[8:]} for ids in used) and len(used) == 6
    assert all(map(identical, made, again)) and not identical(made[0], made[1])
    assert not any(identical(one, start) for one in made)
    shadows(trainable, start, 1, 99, np.random.default_rng(0))
    assert len(used[-1]) == 6  # all there are


def test_shadows_without_auxiliary_data_are_an_error(world):
    with pytest.raises(DataError, match=r"audit\.shadows = 0"):
        shadows(world, world.initial().params, 1, 4, np.random.default_rng(0))


def test_examples_learnt_by_heart_stand_out_against_shadows(trainable, examples):
    start, members = trainable.initial().params, examples[:4]
    vlm, adapter, features = trainable.vlm, trainable.adapter, trainable.features
    settings = replace(train_settings(trainable.recipe), epochs=20)
    encoded = trainable.encoded(members)
    target = train(vlm, adapter, features, encoded, start, frozenset(start), settings, np.random.default_rng(1)).params
    made = shadows(trainable, start, 3, 4, np.random.default_rng(0))
    found = shadow_scores(trainable, target, made, examples[:8], examples[8:])
    assert found.keys() == set(ATTACKS)
    for scores in found.values():
        assert scores.shape == (8,)
        assert scores[:4].mean() > scores[4:].mean()
