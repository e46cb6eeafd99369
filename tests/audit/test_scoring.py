"""Scores of one model: how many passes they take, and that nothing but a number per attack outlives a few examples."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from fedrand.audit import scoring
from fedrand.audit.attacks import score_attacks
from fedrand.audit.scoring import likelihoods, scored
from fedrand.data.example import Example, ImageSource
from fedrand.datasets import Dataset
from fedrand.lora import Adapter
from fedrand.models import ImageFeatures, load_model
from fedrand.models.load import quiet
from fedrand.settings import Recipe
from fedrand.world import World

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
    whole = scored(world, examples, None, attacks).values
    assert passes.most == len(examples)
    passes.most = 0
    monkeypatch.setattr(scoring, "CHUNK", 3)
    parts = scored(world, examples, None, attacks).values
    assert passes.most == 3
    assert whole.keys() == parts.keys() == {(attack.name, attack.slice) for attack in attacks}
    for slot, values in whole.items():
        assert list(values) == list(parts[slot]) == [example.id for example in examples]
        assert all(type(value) is float for value in values.values())
        assert list(values.values()) == pytest.approx(list(parts[slot].values()), abs=1e-9), slot


def test_an_attack_that_does_not_apply_is_not_scored(world, examples):
    lower = [replace(example, answer=example.answer.lower()) for example in examples]
    assert ("lowercase", "answer") not in scored(world, lower, None, table(lower)).values


def test_likelihoods_are_minus_the_losses(world, examples):
    params = world.initial().params
    losses = scored(world, examples, params, table(examples)).values["loss", "answer"]
    assert likelihoods(world, examples, params) == pytest.approx(list(losses.values()))


def test_the_reference_codes_clamp_changes_the_entropies_alone(world, examples):
    clamped = replace(
        world, recipe=Recipe.model_validate({"strategy": {"name": "fedrand"}, "audit": {"renyi": "vlmia"}})
    )
    few = examples[:3]
    exact, other = (scored(some, few, None, table(few)).values for some in (world, clamped))
    changed = {
        name.split("-")[0].split(" ")[0] for (name, where), value in exact.items() if value != other[name, where]
    }
    assert "MaxRenyi" in changed and changed <= {"MaxRenyi", "ModRenyi"}
