"""Runs that share a process: one model for all, and the same bits as alone."""

import json

import pytest

from fedrand.recipe import load_recipe
from fedrand.resident import Resident
from fedrand.run import run
from fedrand.world import build

SMALL = (
    *("data.limit=24", "data.clients=3", "data.min_size=4", "train.rounds=2", "train.clients_per_round=2"),
    *("train.max_steps=2", "evaluate.client_captions=4", "evaluate.max_new_tokens=4", "evaluate.choices=false"),
)


def recipe(*more):
    return load_recipe("emoji", [*SMALL, *more])


def figures(results):
    """What a run measured, without what a clock did."""
    return {key: value for key, value in results.items() if key != "seconds"}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """(folder, results) of a run that shares nothing."""
    folder = tmp_path_factory.mktemp("resident") / "alone"
    return folder, run(recipe(), folder)


def test_a_run_after_others_in_one_process_has_the_bits_of_a_run_alone(alone, tmp_path):
    resident = Resident()
    others = {"other": ("strategy.name=fedpara", "train.rounds=1"), "first": ("seed=1", "train.rounds=1")}
    for name, more in {**others, "run": ()}.items():
        found = run(recipe(*more), tmp_path / name, world=build(recipe(*more), resident=resident))
    folder, results = alone
    assert figures(found) == figures(results)
    state = "server/state.safetensors"
    assert (tmp_path / "run" / state).read_bytes() == (folder / state).read_bytes()
    written = json.loads((tmp_path / "run" / "results.json").read_text())
    assert written["before"] == json.loads((folder / "results.json").read_text())["before"]


def test_without_multiple_choice_every_other_figure_is_the_same(alone, tmp_path):
    found = figures(run(recipe("evaluate.choices=true"), tmp_path / "run"))
    for model in ("before", "server"):
        assert found[model].pop("qa")
    assert found == figures(alone[1])


@pytest.mark.parametrize(("who", "spared"), [("server", {"mean"}), ("nobody", {"before", "server", "mean"})])
def test_who_is_not_measured_out_of_domain_has_the_same_figures_in_it(who, spared, alone, tmp_path):
    found, whole = run(recipe(f"evaluate.ood={who}"), tmp_path / "run"), alone[1]
    for model in ("before", "server", "mean"):
        one, every = (results.get(model) or results["clients"][model] for results in (found, whole))
        assert one == {split: every[split] for split in every if split != "ood" or model not in spared}


def test_the_model_and_what_it_made_of_images_stay():
    resident = Resident()
    first = build(recipe(), resident=resident)
    first.look(first.used)
    known = len(first.features)
    second = build(recipe("seed=1"), resident=resident)
    assert second.vlm is first.vlm
    assert second.features is first.features and len(second.features) == known > 0


def test_another_model_takes_the_place_of_the_first():
    resident = Resident()
    first = build(recipe(), resident=resident)
    second = build(recipe("model.dtype=bfloat16"), resident=resident)
    assert second.vlm is not first.vlm
    assert second.vlm.dtype != first.vlm.dtype
