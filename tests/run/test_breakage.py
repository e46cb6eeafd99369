"""Runs that cannot end well, and run folders that lost a part: told before training, or refused by what is missing."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from fedrand import evaluate, world
from fedrand.cli import main
from fedrand.errors import RunError
from fedrand.runfolder import RunFolder

SMALL = (
    "data.name=folder",
    "data.partition=client",
    "train.rounds=2",
    "train.clients_per_round=2",
    "train.max_steps=1",
    "train.lr=1e-3",
    "evaluate.client_captions=0",
    "evaluate.max_new_tokens=2",
    "audit.bootstrap=20",
    "audit.shadows=0",
)


def table(folder, rows):
    for number, row in enumerate(rows):
        Image.new("RGB", (8, 8), (16 * number % 256, 99, 240)).save(folder / f"{number}.png")
        row |= {"image": f"{number}.png", "captions": [f"a picture of {number} apples"]}
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Two clients; group-0 to group-3 lie with both of them, and three pictures are for measuring."""
    rows = [{"client": name, "group": f"group-{n}"} for name in ("north", "south") for n in range(4)]
    rows += [{"client": name, "group": f"{name}-{n}"} for name in ("north", "south") for n in range(2)]
    rows += [{"client": "south", "split": "test"} for _ in range(3)]
    return table(tmp_path_factory.mktemp("pictures"), rows)


def start(pictures, out, *settings):
    pairs = (word for setting in (f"data.path={pictures}", *SMALL, *settings) for word in ("--set", setting))
    return main(["run", "emoji", *pairs, "--out", str(out), "--quiet"])


@pytest.fixture(scope="module")
def finished(pictures, tmp_path_factory):
    out = tmp_path_factory.mktemp("finished") / "run"
    assert start(pictures, out) == 0
    return out


@pytest.fixture
def copied(finished, tmp_path):
    return RunFolder.open(shutil.copytree(finished, tmp_path / "run"))


def test_a_group_that_two_clients_hold_is_trained_on_by_both_or_by_neither(pictures, finished):
    rows = [json.loads(line) for line in (pictures / "data.jsonl").read_text().splitlines()]
    group = {row["image"]: row.get("group", "") for row in rows}
    clients = json.loads((finished / "data" / "split.json").read_text())["clients"]
    north, south = ({group[one] for one in clients[name]["members"]} for name in ("north", "south"))
    shared = {f"group-{number}" for number in range(4)}
    assert north & shared == south & shared


def test_a_split_that_is_unknown_is_refused_and_validation_is_never_trained_on(tmp_path, capsys):
    rows = [{"client": name, "split": "Test" if n == 3 else ""} for name in ("north", "south") for n in range(4)]
    assert start(table(tmp_path, rows), tmp_path / "run") == 2
    assert "is of split 'Test'; choose from train, validation, test, ood, or none" in capsys.readouterr().err
    marks = ("", "", "", "val", "validation", "test")
    rows = [{"client": name, "split": mark} for name in ("north", "south") for mark in marks]
    assert start(table(tmp_path, rows), tmp_path / "run") == 0
    split = json.loads((tmp_path / "run" / "data" / "split.json").read_text())["clients"]
    dealt = [one for halves in split.values() for half in halves.values() for one in half]
    assert len(dealt) == 6


def test_a_transcript_whose_index_lost_its_last_lines_is_not_audited(copied, capsys):
    index = copied.transcript / "index.jsonl"
    index.write_text("".join(index.read_text().splitlines(keepends=True)[:-2]))
    assert main(["audit", str(copied.path), "--quiet"]) == 2
    assert "the transcript is not whole" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("transcript/index.jsonl", '"upload"', "the transcript is not whole"),
        ("transcript/index.jsonl", "", "no transcript in"),
        ("ledger.csv", "upload", "bytes of upload of round 0"),
        ("ledger.csv", "", "bytes of upload of round 0"),
    ],
)
def test_a_run_that_lost_what_was_sent_is_not_gone_on_with_nor_ended(copied, capsys, monkeypatch, name, line, said):
    """Bytes and epsilon would be too small. The first line of that kind is lost, or all of the file."""
    (copied.path / "results.json").unlink()
    measured, path = evaluate.results, copied.path / name
    lines = path.read_text().splitlines(keepends=True)

    def lose(*given):
        first = next(number for number, text in enumerate(lines) if line in text)
        path.write_text("".join(lines[:first] + lines[first + 1 :])) if line else path.unlink()
        return measured(*given)

    monkeypatch.setattr(evaluate, "results", lose)
    for _ in range(2):  # while it is measured, and before
        assert main(["resume", str(copied.path), "--quiet"]) == 2
        assert said in capsys.readouterr().err
        assert not (copied.path / "results.json").exists()
        monkeypatch.setattr(evaluate, "results", measured)


@pytest.mark.parametrize("words", [("audit",), ("export", "--merge")])
def test_a_run_is_not_told_of_by_another_recipe_than_it_was_made_by(copied, tmp_path, capsys, words):
    toml = copied.path / "recipe.toml"
    toml.write_text(toml.read_text().replace("scale = 1.0", "scale = 2.0").replace("bootstrap = 20", "bootstrap = 21"))
    command, *option = words
    assert main([command, str(copied.path), *(part for one in option for part in (one, str(tmp_path / "out")))]) == 2
    assert "recipe.toml changed since the run began: adapter.scale was 1.0, is 2.0; put it" in capsys.readouterr().err


def test_an_adapter_is_not_merged_into_another_model_of_that_name(copied, tmp_path, capsys):
    environment = copied.path / "environment.json"
    found = json.loads(environment.read_text())
    found["model"]["fingerprint"] = "that of an earlier model"
    environment.write_text(json.dumps(found))
    assert main(["export", str(copied.path), "--merge", str(tmp_path / "out")]) == 2
    assert "the weights of the base model are not those the run began with; put it back" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_how_an_audit_is_made_may_change_after_the_run(copied):
    toml = copied.path / "recipe.toml"
    toml.write_text(toml.read_text().replace("bootstrap = 20", "bootstrap = 21"))
    before = toml.read_text()
    assert main(["audit", str(copied.path), "--quiet", "--set", "audit.level=0.9"]) == 0
    found = json.loads((copied.path / "audit.json").read_text())
    assert (found["settings"]["level"], found["settings"]["bootstrap"]) == (0.9, 21)
    assert {row["level"] for row in found["protocols"]["P1"]["rows"] if row["applies"]} == {0.9}
    assert toml.read_text() == before


def test_an_audit_that_cannot_be_written_is_refused_before_any_attack(copied, capsys, monkeypatch):
    monkeypatch.setattr(world, "build", lambda *given: pytest.fail("attacked, to be kept nowhere"))
    (copied.path / ".lock").unlink()
    (copied.path / ".lock").mkdir()  # as root may write anywhere, this stands for a folder mounted read-only
    assert main(["audit", str(copied.path), "--quiet"]) == 1
    assert f"Is a directory ({copied.path / '.lock'})" in capsys.readouterr().err


def test_a_run_is_not_gone_on_with_when_a_client_lost_its_state(copied, capsys):
    (copied.path / "results.json").unlink()
    shutil.rmtree(copied.path / "clients" / "north")
    assert main(["resume", str(copied.path), "--quiet"]) == 2
    assert (
        "client 'north' trained in round 1, but clients/north has no state of it; put it back"
        in capsys.readouterr().err
    )


def test_a_run_is_not_gone_on_with_from_a_client_s_older_state(copied, capsys):
    (copied.path / "results.json").unlink()
    *older, newest = sorted((copied.path / "clients" / "south").glob("state-*"))
    assert older
    newest.unlink()
    assert main(["resume", str(copied.path), "--quiet"]) == 2
    assert "client 'south' trained in round 1, but clients/south has no state of it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            ("train.clients_per_round=3",),
            "train.clients_per_round is 3, but the data have 2 clients; choose from 1 to 2",
        ),
        (("strategy.min_group=3",), "min_group is 3, but 2 clients train in a round; choose from 0 to 2"),
        (("privacy.clip=1.0", "privacy.noise=1e-300"), "epsilon is infinite after 2 uploads; raise the noise"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_protects_nothing_is_refused_before_any_training(pictures, tmp_path, capsys, settings, said):
    assert start(pictures, tmp_path / "run", *settings) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run" / "server").exists()  # so that the corrected run can take the folder


def test_a_run_in_which_no_half_was_averaged_ends_with_a_note(pictures, tmp_path):
    out = tmp_path / "run"
    assert start(pictures, out, "strategy.min_group=2", "train.rounds=1") == 0
    assert RunFolder.open(out).finished


def test_a_model_that_broke_is_an_error_and_no_result(monkeypatch):
    monkeypatch.setattr(evaluate, "each_logp", lambda *given: [(0, np.array([-1.0, np.nan]))])
    recipe = SimpleNamespace(evaluate=SimpleNamespace(batch_size=1))
    world = SimpleNamespace(vlm=None, features=None, recipe=recipe)
    with pytest.raises(RunError, match="the model's loss is no number: training broke it"):
        evaluate.loss(world, [None])


def test_a_run_that_was_refused_leaves_a_folder_that_the_corrected_one_takes(pictures, tmp_path):
    out = tmp_path / "run"
    assert start(pictures, out, "model.name=./nothere") == 2
    assert start(pictures, out, "train.rounds=1") == 0
