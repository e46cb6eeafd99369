"""An audit from end to end: a tiny random model that learns a dozen drawings by heart, or is not trained at all."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fedrand.audit.run import attacked
from fedrand.audit.transcript import TranscriptWriter
from fedrand.data.example import Example, ImageSource
from fedrand.datasets import Dataset
from fedrand.dealing import ClientData
from fedrand.federation import select_clients
from fedrand.lora import Adapter
from fedrand.models import ImageFeatures, load_model
from fedrand.models.load import quiet
from fedrand.models.runtime import torch
from fedrand.progress import Progress
from fedrand.recorded import federate
from fedrand.runfolder import RunFolder
from fedrand.settings import Recipe
from fedrand.world import World

sys.path.append(str(Path(__file__).parents[1] / "engine"))

WORDS = ["red", "blue", "cat", "dog", "short", "an", "image", "of", "the", "given", "description"]
CLIENTS, SIDE, SHIFTED = ("c00", "c01", "c02"), 12, 9


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    from tiny_models import save_model

    with quiet():
        return save_model(tmp_path_factory.mktemp("model"), "fast_vlm")


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    """Random blocks with random words: nothing to learn but the example itself."""
    folder, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    made = []
    for number in range(len(CLIENTS) * 2 * SIDE + SHIFTED):
        path = folder / f"{number}.png"
        Image.fromarray(rng.integers(0, 256, (4, 4, 3), np.uint8).repeat(8, 0).repeat(8, 1)).save(path)
        answer = " ".join(rng.choice(WORDS, 4))
        made.append(Example(f"e{number}", ImageSource(path), "{image} what?", answer, (answer,)))
    return made


@pytest.fixture
def world(model_folder, drawings):
    """A world of any strategy and training."""

    def make(strategy: dict, rounds: int, per_round: int = 3, epochs: int = 3, lr: float = 0.003) -> World:
        torch.set_num_threads(1)
        train = {"rounds": rounds, "clients_per_round": per_round, "lr": lr, "epochs": epochs, "batch_size": 4}
        tables = {"train": train, "strategy": strategy, "audit": {"bootstrap": 200}, "evaluate": {"max_new_tokens": 4}}
        recipe = Recipe.model_validate({**tables, "data": {"clients": 3}, "model": {"name": str(model_folder)}})
        vlm = load_model(recipe.model.name)
        halves = [tuple(drawings[i * SIDE : (i + 1) * SIDE]) for i in range(2 * len(CLIENTS))]
        clients = {name: ClientData(*halves[2 * i : 2 * i + 2]) for i, name in enumerate(CLIENTS)}
        dataset = Dataset((), {"ood": tuple(drawings[-SHIFTED:])}, {})
        return World(recipe, vlm, Adapter.attach(vlm), ImageFeatures(vlm), clients, dataset)

    return make


def play(world: World, path: Path) -> RunFolder:
    folder = RunFolder.create(path, world.recipe)
    folder.begin({}, world.split(), world.initial())
    federate(folder, world.federation(), TranscriptWriter(folder.transcript), world.recipe.train.rounds, Progress())
    return folder


def rows(found, model, protocol="P1"):
    """The rows of a model; the drawings' words are in lower case, so one attack never applies."""
    some = [row for row in found["protocols"][protocol]["rows"] if row["model"] == model]
    return {(row["attack"], row["slice"]): row for row in some if row["attack"] != "lowercase"}


def test_what_was_learnt_by_heart_leaks_and_the_base_model_shows_nothing(world, tmp_path):
    made = world({"name": "fedrand"}, rounds=3)
    found = attacked(made, play(made, tmp_path / "run"))
    assert rows(found, "oracle")["reference", "answer"]["low"] > 0.6
    assert rows(found, "client")["reference", "answer"]["auroc"] > 0.6
    for row in rows(found, "base").values():
        assert row["low"] <= 0.5 <= row["high"]
    assert any("membership leaks" in sentence for sentence in found["verdict"])


def test_what_a_client_sent_gives_its_members_away(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=3)
    found = attacked(made, play(made, tmp_path / "run"))
    assert rows(found, "update")["gradient cosine", "last upload"]["low"] > 0.6


def test_a_client_of_fedavg_is_its_last_upload(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=1, epochs=1)
    found = attacked(made, play(made, tmp_path / "run"))
    assert all(one["stale_rounds"] == [0] for one in found["rebuilt"].values())
    figures = [
        {key: (row["auroc"], row["per_client"]) for key, row in rows(found, model).items()}
        for model in ("client", "oracle")
    ]
    assert figures[0] == figures[1]


def test_a_client_that_never_took_part_has_no_members(world, tmp_path):
    made = world({"name": "fedrand"}, rounds=1, per_round=1, epochs=1)
    found = attacked(made, play(made, tmp_path / "run"))
    (asked,) = select_clients(CLIENTS, 1, 0, seed=0)
    assert found["absent"] == sorted(set(CLIENTS) - {asked})
    for model in ("server", "client", "oracle", "base"):
        for row in rows(found, model).values():
            assert (row["n_members"], list(row["per_client"])) == (SIDE, [asked])
    for row in rows(found, "server", "P0").values():
        assert (row["n_members"], row["n_nonmembers"]) == (SIDE, SHIFTED)


def test_no_two_clients_are_compared_with_the_same_shifted_example(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=1, epochs=1)
    found = attacked(made, play(made, tmp_path / "run"))
    for row in rows(found, "client", "P0").values():
        assert (row["n_members"], row["n_nonmembers"]) == (len(CLIENTS) * SIDE, SHIFTED)


def test_a_lone_a_of_round_0_has_no_gradient_and_is_no_finding(world, tmp_path):
    made = world({"name": "fedrand", "rho": 1.0}, rounds=1, epochs=1)
    (row,) = rows(attacked(made, play(made, tmp_path / "run")), "update").values()
    assert row["applies"] is False and row["reason"]
