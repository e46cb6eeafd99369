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
from fedrand.audit.attacks.lira import offline_lira
from fedrand.audit.rows import Sides
from fedrand.audit.scoring import likelihoods, scored
from fedrand.audit.shadows import ATTACKS, shadow_rows, shadow_scores, shadows
from fedrand.data.example import DataError, Example, ImageSource
from fedrand.datasets import Dataset
from fedrand.lora import Adapter
from fedrand.models import ImageFeatures, load_model
from fedrand.models.load import quiet
from fedrand.params import identical
from fedrand.progress import Progress
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
    own, rest = (likelihoods(trainable, some, target) for some in (examples[:8], examples[8:]))
    theirs, others = (
        np.column_stack([likelihoods(trainable, some, one) for one in made]) for some in (examples[:8], examples[8:])
    )
    found = shadow_scores(own, theirs, rest, others)
    assert found.keys() == set(ATTACKS)
    for scores in found.values():
        assert scores[:4].mean() > scores[4:].mean()


def test_a_shadow_looks_at_a_clients_examples_once_and_the_rows_are_those_of_the_definition(examples, monkeypatch):
    """Adapters are numbers here, log p of an example its place times the adapter; south trained last in round 1 of 0 to 3."""
    place = {example.id: -float(number) for number, example in enumerate(examples, 1)}
    looked = []

    def said(world, some, adapter):
        looked.append((adapter, some[0].id))
        return np.array([place[example.id] * adapter for example in some])

    monkeypatch.setattr(shadow_clients, "likelihoods", said)
    monkeypatch.setattr(shadow_clients, "shadows", lambda world, start, count, size, rng: [start + 0.1, start + 0.2])
    sides = {"north": Sides(tuple(examples[:2]), tuple(examples[2:4])), "south": Sides(*[tuple(examples[4:6])] * 2)}
    histories = {name: [SimpleNamespace(round=round)] for name, round in (("north", 3), ("south", 1))}
    world = SimpleNamespace(dataset=SimpleNamespace(auxiliary=examples[8:10]))
    tapped = SimpleNamespace(rounds=(0, 1, 2, 3), broadcast=lambda round: 1.0 + round)
    more = {"table": SimpleNamespace(shadows=2), "final": 7.0, "views": sides, "rng": lambda *name: None}
    bench = SimpleNamespace(world=world, tapped=tapped, sides=sides, histories=histories, progress=Progress(), **more)
    adapter = {"server": 7.0, "client": 5.0}
    models = SimpleNamespace(
        bench=bench,
        known={"north": 5.0, "south": 5.0},
        value=lambda model, slot, client, example: place[example.id] * adapter[model],
    )
    rows = {(row.model, row.attack): row.samples for row in shadow_rows(models)}
    of_clients = [(shadow, first) for shadow, first in looked if first in (examples[0].id, examples[4].id)]
    assert len(of_clients) == len(set(of_clients)) == 2 + 4
    assert len(looked) == 6 + 1 + 2 + 4  # of the population: the server's model, two clients' and two rounds' shadows
    for (model, client), (target, crowd, some) in {
        ("server", "north"): (7.0, [4.1, 4.2], examples[:4]),
        ("client", "north"): (5.0, [4.1, 4.2], examples[:4]),
        ("server", "south"): (7.0, [4.1, 4.2], examples[4:6]),
        ("client", "south"): (5.0, [2.1, 2.2], examples[4:6]),
    }.items():
        x = np.array([place[example.id] for example in some])
        known = offline_lira(target * x, np.outer(x, crowd))
        assert rows[model, "LiRA"][client].members == pytest.approx(known[:2])
