"""An audit from end to end: a tiny random model that learns a dozen drawings by heart, or is not trained at all."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from simulated import Silenced

from fedrand.accountant import epsilon
from fedrand.audit import climb
from fedrand.audit.exhibits import exposed
from fedrand.audit.ladder import distance, fitted, rebuilt
from fedrand.audit.rows import Row, Sides, sampled
from fedrand.audit.run import attacked
from fedrand.audit.statistics import auroc
from fedrand.audit.transcript import TranscriptWriter, transcript
from fedrand.audit.uploads import combined, fedmia_cosine, round_rows, upload_losses, upload_scores
from fedrand.audit.views import seen_by
from fedrand.data.canaries import planted
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
from fedrand.release import Release
from fedrand.round import ClientError
from fedrand.runfolder import RunFolder
from fedrand.settings import PrivacyTable, Recipe
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


def play(world: World, path: Path, release: Release | None = None) -> RunFolder:
    folder = RunFolder.create(path, world.recipe)
    folder.begin({}, world.split(), world.initial())
    players = world.federation()
    if release:
        players = replace(players, strategy=replace(players.strategy, release=release))
    federate(folder, players, TranscriptWriter(folder.transcript), world.recipe.train.rounds, Progress())
    return folder


def rows(found, model, protocol="P1", applies=True):
    """The rows of a model whose attack has a figure, or those where it has a reason not to."""
    some = [row for row in found["protocols"][protocol]["rows"] if row["model"] == model]
    return {(row["attack"], row["slice"]): row for row in some if row["applies"] == applies}


def test_what_was_learnt_by_heart_leaks_and_the_base_model_shows_nothing(world, tmp_path):
    made = world({"name": "fedrand"}, rounds=3)
    found = attacked(made, play(made, tmp_path / "run"))
    assert rows(found, "oracle")["reference", "answer"]["low"] > 0.6
    assert rows(found, "client")["reference", "answer"]["auroc"] > 0.6
    nulls = rows(found, "base", "P4").values()
    assert len(nulls) > 10 and np.mean([row["low"] <= 0.5 <= row["high"] for row in nulls]) >= 0.9
    assert any("membership leaks" in sentence for sentence in found["verdict"])


def test_what_a_client_sent_gives_its_members_away(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=3)
    found = attacked(made, play(made, tmp_path / "run"))
    assert rows(found, "update")["gradient cosine", "last upload"]["low"] > 0.6


@pytest.mark.parametrize("silenced", [1, 4, 8])  # in the first round of a client, between, in its last
def test_a_run_with_a_refused_upload_is_audited_without_it(world, tmp_path, silenced):
    made = world({"name": "fedrand"}, rounds=3)
    folder = play(made, tmp_path / "run", Silenced({silenced}))
    (refused,) = [one["client"] for line in folder.metrics() for one in line["refused"]]
    found = attacked(made, folder)
    assert found["absent"] == [] and refused in found["rebuilt"]
    for model in ("client", "update"):
        assert all(0 <= row["auroc"] <= 1 for row in rows(found, model).values())


def scored_uploads(made, folder, threat="T3+", client="", **more):
    view = seen_by(threat, folder.transcript, folder.server().params, client)
    names = [client] if client else made.clients
    examples = {name: [e for side in made.clients[name] for e in side] for name in names}
    return view, examples, upload_scores(made, view, examples, **more)


def separation(values):
    """AUROC of scores whose first half are members."""
    return auroc(values[:SIDE], values[SIDE:])


def test_every_upload_is_scored_and_the_rounds_add_up(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=4, epochs=1)
    folder = play(made, tmp_path / "run")
    told = []
    view, examples, found = scored_uploads(made, folder, progress=Progress(told.append))
    assert (told[-1].done, told[-1].total) == (12, 12) and list(found) == list(CLIENTS)
    names = ["gradient norm", "gradient cosine", "gradient difference", "span of A", "span of B"]
    for client, rounds in found.items():
        together = combined(rounds)
        assert list(together) == names and all(len(values) == 2 * SIDE for values in together.values())
        assert rounds[0].others.shape == (2, 2 * SIDE)
        assert separation(together["gradient cosine"]) > 0.6
        for compared in (fedmia_cosine(rounds), upload_losses(made, view, client, examples[client], newest=2)):
            assert (compared.rounds, compared.pooled) in [(4, 4), (2, 2)]
            assert separation(compared.scores) > 0.5
    lines = round_rows(found, transcript(folder.transcript))
    assert len(lines) == 12 and not any(line["switched"] or line["alone"] for line in lines)


def test_a_server_that_looks_at_one_client_scores_it_as_one_that_looks_at_all(world, tmp_path):
    made = world({"name": "fedrand"}, rounds=4, epochs=1)
    folder = play(made, tmp_path / "run")
    _, _, every = scored_uploads(made, folder)
    _, _, own = scored_uploads(made, folder, "T3", "c01")
    (newest,) = scored_uploads(made, folder, "T3", "c01", newest=1)[2]["c01"]
    assert [one.seen.round for one in own["c01"]] == [0, 1, 2, 3]
    for one, other in zip(own["c01"], every["c01"], strict=True):
        assert all(np.allclose(one.values[name], values, rtol=1e-4) for name, values in other.values.items())
        assert one.others.shape == (0, 2 * SIDE)
    assert newest.seen.round == 3
    alone = [line for line in round_rows(every, transcript(folder.transcript)) if line["alone"]]
    halves = [[upload["sent"] for upload in line["clients"].values()] for line in folder.metrics()]
    assert len(alone) == sum(sent.count(half) == 1 for sent in halves for half in "AB") > 0


def test_public_data_fit_the_half_that_was_not_sent_and_nothing_else(world, tmp_path):
    made = world({"name": "fedrand"}, rounds=2, epochs=1)
    folder = play(made, tmp_path / "run")
    view = seen_by("T3", folder.transcript, folder.server().params, "c00")
    public = made.splits["ood"]
    before, sent = rebuilt(view).params, view.read(view.uploads()[-1])

    def gone(pull):
        after = fitted(made, view, public, np.random.default_rng(0), steps=5, pull=pull)
        assert all(np.array_equal(after[key], value) for key, value in sent.items())
        return distance(after, before)

    assert 0 < gone(pull=1000.0) < gone(pull=0.0)
    whole = world({"name": "fedavg"}, rounds=1, epochs=1)
    everything = seen_by("T3", play(whole, tmp_path / "fedavg").transcript, before, "c00")
    assert distance(fitted(whole, everything, public, np.random.default_rng(0)), rebuilt(everything).params) == 0


def test_a_fit_that_diverges_leaves_the_server_with_what_it_had(world, tmp_path, monkeypatch):
    def diverges(*given):
        raise ClientError("the loss is nan at step 3; lower train.lr")

    made = world({"name": "fedrand"}, rounds=3)
    folder = play(made, tmp_path / "run")
    made = replace(made, dataset=replace(made.dataset, auxiliary=made.splits["ood"]))
    monkeypatch.setattr(climb, "fitted", diverges)
    rungs = {line["rung"]: line for line in attacked(made, folder)["ladder"]}
    assert rungs["R6"]["distance"] == pytest.approx(
        rungs["R1"]["distance"]
    )  # a norm's last digit goes by memory's layout
    assert rungs["R6"]["auroc"] == rungs["R1"]["auroc"]


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
    for model, protocol in (("server", "P1"), ("client", "P1"), ("oracle", "P1"), ("base", "P4")):
        assert rows(found, model, protocol)
        for row in rows(found, model, protocol).values():
            assert (row["n_members"], list(row["per_client"])) == (SIDE, [asked])
    for row in rows(found, "server", "P0").values():
        assert (row["n_members"], row["n_nonmembers"]) == (SIDE, SHIFTED)


def test_clients_that_send_nothing_took_part_and_are_told_to_have_sent_nothing(world, tmp_path):
    made = world({"name": "local"}, rounds=1, per_round=2, epochs=1)
    found = attacked(made, play(made, tmp_path / "run"))
    asked = select_clients(CLIENTS, 2, 0, seed=0)
    assert (found["absent"], found["silent"]) == (sorted(set(CLIENTS) - set(asked)), sorted(asked))
    reasons = {row["reason"] for protocol in found["protocols"].values() for row in protocol["rows"]}
    assert reasons == {"no upload was taken: nobody sent anything that could be attacked"}


def test_no_two_clients_are_compared_with_the_same_shifted_example(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=1, epochs=1)
    found = attacked(made, play(made, tmp_path / "run"))
    for row in rows(found, "client", "P0").values():
        assert (row["n_members"], row["n_nonmembers"]) == (len(CLIENTS) * SIDE, SHIFTED)


def test_a_sample_of_the_examples_is_attacked_where_the_recipe_asks_for_one(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=1, epochs=1)
    audit = made.recipe.audit.model_copy(update={"sample": 6})
    made = replace(made, recipe=made.recipe.model_copy(update={"audit": audit}))
    found = attacked(made, play(made, tmp_path / "run"))
    for row in rows(found, "server").values():
        assert (row["n_members"], row["n_nonmembers"]) == (6, 6)
    for row in rows(found, "client", "P0").values():
        assert (row["n_members"], row["n_nonmembers"]) == (6, 6)


def test_a_lone_a_of_round_0_has_no_gradient_and_is_no_finding(world, tmp_path):
    made = world({"name": "fedrand", "rho": 1.0}, rounds=1, epochs=1)
    found = attacked(made, play(made, tmp_path / "run"))
    assert not any("cosine" in attack for attack, _ in rows(found, "update"))
    silent = rows(found, "update", applies=False)
    assert silent["gradient cosine", "last upload"]["reason"] == "no client has both members and non-members"


def test_what_canaries_prove_never_exceeds_what_the_accountant_promises(world, tmp_path):
    made = world({"name": "fedrand"}, rounds=3, epochs=4, lr=0.01)
    clients = planted(made.clients, [e for data in made.clients.values() for e in data.members], 48, 0, "{image} what?")
    proofs = {}
    for noise in (0.0, 2.0):
        privacy = PrivacyTable(clip=0.5, noise=noise)
        audit = made.recipe.audit.model_copy(update={"canaries": 48})
        recipe = made.recipe.model_copy(update={"privacy": privacy, "audit": audit})
        here = replace(made, recipe=recipe, clients=clients)
        found = attacked(here, play(here, tmp_path / f"noise-{noise}"))
        assert found["protocols"]["P3"]["canaries"] == 48
        proofs[noise] = [line["low"] for line in found["protocols"]["P3"]["epsilon"]]
        assert len(proofs[noise]) == 3
    assert max(proofs[2.0]) <= epsilon(2.0, uploads=3, delta=1e-5)
    assert max(proofs[0.0]) > 0


def test_every_part_of_the_page_is_written_and_is_json(world, tmp_path):
    made = world({"name": "fedrand"}, rounds=3)
    found = attacked(made, play(made, tmp_path / "run"))
    again = json.loads(json.dumps(found, allow_nan=False))
    parts = (
        "threats ladder knowledge singletons rounds controls roc histograms entropy exposed protections family scores"
    )
    assert again.keys() >= set(parts.split()) and again["version"] == 3
    assert again["protocols"].keys() == {"P0", "P1", "P2", "P4"}
    assert [threat["id"] for threat in again["threats"]] == ["T0", "T1", "T2", "T3", "T3+", "T4", "Tinf"]
    assert [rung["rung"] for rung in again["ladder"]] == ["R0", "R1", "R2", "R3", "R4"]
    assert again["ladder"][0]["distance"] == 0 < again["ladder"][2]["distance"]


def test_an_adversary_is_judged_by_no_attack_that_needs_more_than_it_sees(world, tmp_path):
    made = world({"name": "fedavg"}, rounds=3)
    found = attacked(made, play(made, tmp_path / "run"))
    worst = {threat["id"]: threat["worst"] for threat in found["threats"]}
    assert {worst[name]["model"] for name in ("T0",)} == {"server"}
    assert all(worst[name]["threat"] in ("T0", "T1") for name in ("T1", "T2", "T4"))
    assert worst["T3"]["threat"] in ("T0", "T1", "T3")
    assert worst["T3"]["auroc"] > worst["T0"]["auroc"]


def test_the_most_exposed_members_are_those_above_most_of_their_client_s_others_over_all_attacks():
    def some(*names):
        return tuple(Example(name, None, "coco", "a", ("a",)) for name in names)

    sides = {"c0": Sides(some("low", "high"), some("x", "y")), "c1": Sides(some("tie"), some("z"))}
    scores = [
        {"low": 0.5, "high": 3.0, "x": 1.0, "y": 2.0, "tie": 1.0, "z": 1.0},
        {"low": 1.5, "high": 9.0, "tie": 2.0},
    ]
    rows = [
        Row("T0", "server", name, "answer", sampled(sides, lambda client, e, own=own: (scores[0] | own)[e.id]))
        for name, own in zip(("loss", "reference"), scores, strict=True)
    ]
    assert [tuple(line.values()) for line in exposed(rows, sides)] == [
        ("c0", "high", "server: reference", 9.0, 1.0),
        ("c1", "tie", "server: reference", 2.0, 0.5),
        ("c0", "low", "server: reference", 1.5, 0.25),
    ]
