"""The run folder: what is private stays private, what is half-written is not taken for whole, what changed is refused."""

import json
import os
import stat
from dataclasses import replace

import numpy as np
import pytest
from numpy_world import CLIENTS, ENVIRONMENT, SHAPES, SPLIT, contents, go_on, recipe, start

from fedrand.checkpoint import read_server, write_server
from fedrand.messages import ClientState, ServerState
from fedrand.params import Key, identical
from fedrand.runfolder import RunFolder, RunFolderError
from fedrand.shelf import DiskShelf
from fedrand.tensorfile import read_tensors


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_same_seed_twice_gives_the_same_files_and_another_seed_does_not(tmp_path):
    for name, made in (("one", recipe()), ("two", recipe()), ("other", recipe("seed=1"))):
        go_on(start(tmp_path / name, made))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    state = "server/state.safetensors"
    assert contents(tmp_path / "one")[state] != contents(tmp_path / "other")[state]


def test_a_run_stopped_between_rounds_goes_on_to_the_same_files(finished, tmp_path):
    folder = start(tmp_path / "stopped")
    for until in (1, 3, 4):
        go_on(RunFolder.open(folder.path), until)
    assert contents(folder.path) == contents(finished.path)


@pytest.mark.parametrize("name", ["metrics.jsonl", "ledger.csv", "transcript/index.jsonl"])
def test_a_torn_last_line_is_cut(finished, name):
    before = (finished.path / name).read_bytes()
    with (finished.path / name).open("ab") as file:
        file.write(b'{"round": 4, "torn')
    go_on(finished)
    assert (finished.path / name).read_bytes() == before


def test_a_half_written_file_or_folder_left_by_a_kill_is_removed(finished):
    left = finished.path / "clients" / CLIENTS[0] / ".state-r0009.safetensors.ab12.part"
    left.write_bytes(b"half")
    adapter = finished.path / "server" / ".adapter.ab12.part"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("half")
    go_on(finished)
    assert not left.exists()
    assert not adapter.exists()


def test_clients_files_are_their_owners_alone(finished):
    own = finished.path / "clients"
    folders = [own, *(place for place in own.iterdir() if place.is_dir())]
    assert len(folders) > 1
    assert {mode(place) for place in folders} == {0o700}
    assert {mode(file) for file in own.rglob("*.safetensors")} == {0o600}


def test_permissions_do_not_depend_on_the_umask(tmp_path):
    old = os.umask(0)
    try:
        DiskShelf(tmp_path / "clients").save("c00", ClientState({Key("l", "A"): np.ones(2, np.float32)}, (0,)))
    finally:
        os.umask(old)
    assert mode(tmp_path / "clients") == mode(tmp_path / "clients" / "c00") == 0o700
    assert mode(tmp_path / "clients" / "c00" / "state-r0000.safetensors") == 0o600


@pytest.mark.parametrize("strategy", ["fedrand", "fedrand draw=layer"])
def test_no_private_tensor_lies_outside_clients_and_oracle(tmp_path, strategy):
    name, *options = strategy.split()
    folder = start(tmp_path / "run", recipe(f"strategy.name={name}", *(f"strategy.{option}" for option in options)))
    go_on(folder)
    private = list(private_tensors(folder))
    assert len(private) >= 3 * 4 * len(SHAPES) / 2
    inside = ("clients", "oracle")
    files = [file for file in folder.path.rglob("*") if file.is_file() and not set(file.parts) & set(inside)]
    assert len(files) > 10
    for file in files:
        data = file.read_bytes()
        assert not any(tensor in data for tensor in private), file


def private_tensors(folder):
    """Bytes of every tensor that a client trained and did not send, from the oracle's and the uploads' own files."""
    for path in folder.transcript.glob("r*/oracle/*.safetensors"):
        whole, _ = read_tensors(path)
        sent, _ = read_tensors(path.parents[1] / f"upload.{path.name}")
        assert all(whole[key].tobytes() == sent[key].tobytes() for key in sent)
        yield from (whole[key].tobytes() for key in whole.keys() - sent.keys())


def test_a_run_is_not_begun_twice(finished):
    with pytest.raises(
        RunFolderError, match=r"holds a run already; go on with: fedrand resume .*, or name another --out"
    ):
        RunFolder.create(finished.path, recipe())


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="exists and is no run"):
        RunFolder.create(tmp_path, recipe())
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_what_a_kill_before_the_recipe_left_is_no_obstacle(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".recipe.toml.ab12.part").write_text("half")
    assert RunFolder.create(tmp_path, recipe()).is_run


def test_what_is_no_run_is_not_opened(tmp_path):
    with pytest.raises(RunFolderError, match="no run in"):
        RunFolder.open(tmp_path)


def test_two_processes_cannot_work_on_one_run(finished):
    message = "another process works on"
    with finished.locked(), pytest.raises(RunFolderError, match=message), RunFolder.open(finished.path).locked():
        pass


def test_a_run_from_before_a_key_was_known_has_its_default(finished):
    """An earlier version wrote neither file with evaluate.ood."""
    folder = finished
    about = folder.read_json("environment.json")
    assert about["recipe"]["evaluate"].pop("ood") == "everyone"
    folder.write_json("environment.json", about)
    toml = folder.path / "recipe.toml"
    toml.write_text(toml.read_text().replace('ood = "everyone"\n', ""))
    assert "ood =" not in toml.read_text()
    RunFolder.open(folder.path).check_recipe()
    toml.write_text(toml.read_text().replace("[evaluate]\n", '[evaluate]\nood = "nobody"\n'))
    with pytest.raises(RunFolderError, match=r'evaluate\.ood was "everyone", is "nobody"'):
        RunFolder.open(folder.path).check_recipe()


def test_a_changed_recipe_is_refused_by_the_keys_that_changed(finished):
    path = finished.path / "recipe.toml"
    finished.check_recipe()
    path.write_text(path.read_text().replace("lr = 0.0001", "lr = 0.003").replace("rounds = 4", "rounds = 9"))
    with pytest.raises(RunFolderError) as refused:
        finished.check_recipe()
    assert "train.lr was 0.0001, is 0.003; train.rounds was 4, is 9" in str(refused.value)


@pytest.mark.parametrize("what", ["model", "data"])
def test_another_model_or_other_data_are_refused(finished, what):
    changed = {**ENVIRONMENT, what: {"name": "numpy", "fingerprint": "1"}}
    with pytest.raises(RunFolderError, match=f'{what}.fingerprint was "0", is "1"'):
        finished.check_world(changed, SPLIT)


def test_another_split_is_refused(finished):
    finished.check_world(ENVIRONMENT, SPLIT)
    with pytest.raises(RunFolderError, match="split of the data"):
        finished.check_world(ENVIRONMENT, {**SPLIT, "seed": 1})


def test_an_altered_checkpoint_is_refused(finished):
    path = finished.path / "server" / "state.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(RunFolderError, match="missing or not whole"):
        finished.server()


def test_a_server_keeps_its_aggregations_memory(tmp_path):
    params = {key: np.full(shape, 2, np.float32) for key, shape in SHAPES.items()}
    server = ServerState(3, params, {"momentum": {key: value + 1 for key, value in params.items()}})
    write_server(tmp_path / "state.safetensors", server)
    found = read_server(tmp_path / "state.safetensors")
    assert found.round == 3
    assert identical(found.params, server.params)
    assert found.memory.keys() == {"momentum"}
    assert identical(found.memory["momentum"], server.memory["momentum"])
    assert read_server(tmp_path / "state.safetensors") is not server


def test_a_shelf_gives_the_state_before_a_round_and_keeps_two(tmp_path):
    shelf = DiskShelf(tmp_path)
    state = ClientState()
    assert shelf.load("c00", 5) == state
    for number in (0, 3, 7):
        value = {Key("l", "A"): np.full(2, number, np.float32)}
        state = replace(state, local=value, rounds=(*state.rounds, number))
        shelf.save("c00", state)
    assert shelf.load("c00", 8).rounds == (0, 3, 7)
    assert shelf.load("c00", 7).rounds == (0, 3)
    assert shelf.load("c00", 7).local[Key("l", "A")].tolist() == [3, 3]
    assert shelf.load("c00", 3) == ClientState()
    assert shelf.clients() == ("c00",)


def test_a_round_is_written_down_with_who_sent_what_in_bytes_as_sent(finished):
    lines, ledger = finished.metrics(), finished.ledger()
    assert [line["round"] for line in lines] == [0, 1, 2, 3]
    for line in lines:
        mine = [row for row in ledger if row.round == line["round"] and row.direction == "upload"]
        assert {row.client: row.part for row in mine} == {name: one["sent"] for name, one in line["clients"].items()}
        assert {one["sent"] for one in line["clients"].values()} <= {"A", "B"}
        assert line["bytes"]["upload"] == sum(row.bytes for row in mine)
        for row in mine:
            file = finished.transcript / f"r{row.round:04d}" / f"upload.{row.client}.safetensors"
            assert row.bytes == file.stat().st_size
        sent = {one["sent"] for one in line["clients"].values()}
        assert line["nobody_sent"]["part"] == {"A": "B", "B": "A", "AB": "none"}["".join(sorted(sent))]


def test_the_split_names_who_was_trained_on(finished):
    assert finished.split()["c01"] == (("c01-0",), ("c01-1",))
    assert json.loads((finished.path / "data" / "split.json").read_text()) == SPLIT


def test_a_clients_state_that_was_cut_is_named_with_what_to_do(finished):
    path = next((finished.path / "clients" / CLIENTS[0]).glob("*.safetensors"))
    path.write_bytes(path.read_bytes()[:-4])
    last = int(path.stem[-4:]) + 1
    with pytest.raises(RunFolderError, match=rf"client {CLIENTS[0]}'s state .* is not whole; put it back from a copy"):
        finished.shelf().load(CLIENTS[0], last)


@pytest.mark.parametrize("text", ['{"clie', "{}", "[1]", "NaN", '{"clients": {}, "recipe": NaN}', "[" * 100_000, None])
@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("environment.json", "fedrand run RECIPE --out"),
        ("data/split.json", "fedrand run RECIPE --out"),
        ("results.json", "fedrand resume"),
    ],
)
def test_a_json_file_that_is_gone_or_not_whole_is_named_with_what_to_do(finished, name, remedy, text):
    path = finished.path / name
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text)
    with pytest.raises(RunFolderError) as refused:
        finished.read_json(name)
    assert str(path) in str(refused.value) and remedy in str(refused.value)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda lines: [], "holds 0 of the [0-9]+ bytes of upload of round 0"),
        (lambda lines: lines[: len(lines) // 2], "bytes of (upload|download) of round"),
        (lambda lines: lines[:-2] + lines[-1:], "bytes of (upload|download) of round 3"),
        (lambda lines: lines[1:], "does not begin with the line 'round,client"),
        (lambda lines: [*lines[:3], "1,c01", *lines[3:]], "line 4 is no row of round,client"),
    ],
)
def test_a_ledger_that_lost_what_travelled_is_not_gone_on_with(finished, harm, said):
    path = finished.path / "ledger.csv"
    path.write_text("".join(f"{line}\n" for line in harm(path.read_text().splitlines())))
    with pytest.raises(RunFolderError, match=rf"ledger\.csv .*{said}.*; put it back from a copy"):
        go_on(finished)


def test_a_ledger_that_is_gone_is_not_gone_on_with(finished):
    (finished.path / "ledger.csv").unlink()
    with pytest.raises(RunFolderError, match=r"ledger\.csv holds 0 of the"):
        go_on(finished)


@pytest.mark.parametrize("text", ["", "{}\n", '{"round": 0, "clients": {}}\n', "[1]\n", '{"rou\n'])
def test_rounds_that_were_lost_are_not_taken_for_a_run(finished, text):
    (finished.path / "metrics.jsonl").write_text(text)
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl .*; put it back from a copy"):
        go_on(finished)
