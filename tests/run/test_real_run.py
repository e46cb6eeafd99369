"""A small run of the shipped model on the shipped drawings, from the command line."""

import contextlib
import errno
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fedrand import tensorfile
from fedrand.adapter_file import load_peft
from fedrand.cli import main
from fedrand.ledger import Row
from fedrand.models import load_model
from fedrand.params import identical
from fedrand.runfolder import RunFolder

SMALL = (
    "data.limit=24",
    "data.clients=3",
    "data.min_size=4",
    "train.rounds=2",
    "train.clients_per_round=2",
    "train.max_steps=2",
    "evaluate.client_captions=4",
    "evaluate.max_new_tokens=4",
    "evaluate.every=2",
)


def arguments(*more, settings=SMALL):
    return ["run", "emoji", *(word for setting in settings for word in ("--set", setting)), *map(str, more)]


def adapter_hash(path):
    return hashlib.sha256((path / "server" / "adapter" / "adapter_model.safetensors").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(the run's folder, what was printed while it was made)."""
    path, printed = tmp_path_factory.mktemp("real") / "run", io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(arguments("--out", path)) == 0
    return path, printed.getvalue()


@pytest.fixture(scope="module")
def run(told):
    return told[0]


@pytest.fixture(scope="module")
def results(run):
    return json.loads((run / "results.json").read_text())


def test_results_name_model_split_weighting_and_seed(results):
    assert (results["method"], results["seed"], results["rounds"], results["model"]) == ("fedrand", 0, 2, "tiny")
    for model in ("before", "server"):
        for split in ("test", "ood"):
            figures = results[model][split]
            assert figures["n"] == figures["captions_n"] == 24
            assert figures["nll"] > 0
            assert figures["nll_n"] > 24
        assert results[model]["qa"].keys() == {"kind", "name", "name-hard"}
    assert results["before"]["test"]["nll"] != results["server"]["test"]["nll"]
    clients = results["clients"]
    nlls = [figures["test"]["nll"] for figures in clients["each"].values()]
    assert len(nlls) == clients["n"] == 3
    assert np.isclose(clients["mean"]["test"]["nll"], np.mean(nlls))
    assert np.isclose(clients["std"]["test"]["nll"], np.std(nlls, ddof=1))
    assert clients["participants_last"]["n"] == 2
    assert clients["mean"]["test"]["captions_n"] == len(results["captions_subset"]["test"]) == 4


def test_bytes_are_the_ledgers_and_are_compared_with_fedavg(run, results):
    rows = [Row.parse(line) for line in (run / "ledger.csv").read_text().splitlines()[1:]]
    assert len(rows) == 2 * 2 * 2
    count = results["bytes"]
    assert count["upload"] == sum(row.bytes for row in rows if row.direction == "upload")
    assert count["total"] == sum(row.bytes for row in rows)
    assert count["keys_sent_fraction"] == 0.5
    assert 0.4 < count["ratio_upload"] < 0.6 < count["ratio_total"] < 0.85


def test_the_servers_loss_is_noted_as_often_as_asked(run, results):
    first, second = (json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines())
    assert "server_test_nll" not in first
    assert second["server_test_nll"] == results["server"]["test"]["nll"]


def test_the_exported_adapter_is_the_servers(run, tmp_path):
    server = RunFolder.open(run).server()
    assert identical(load_peft(run / "server" / "adapter").params, server.params)
    assert main(["export", str(run), "--adapter", str(tmp_path / "adapter"), "--quiet"]) == 0
    assert identical(load_peft(tmp_path / "adapter").params, server.params)


def test_the_merged_model_is_one_that_fedrand_loads(run, tmp_path, capsys):
    assert main(["export", str(run), "--merge", str(tmp_path / "merged")]) == 0
    assert capsys.readouterr().out == f"written: {tmp_path / 'merged'}\n"
    assert load_model(str(tmp_path / "merged")).fingerprint() != load_model("tiny").fingerprint()


def test_a_full_disk_is_one_line_and_the_resumed_run_gives_the_same_bits(run, tmp_path, monkeypatch, capsys):
    path, left = tmp_path / "full", [45]

    def fsync(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tensorfile.os, "fsync", fsync)
    assert main(arguments("--out", path, "--quiet")) == 1
    told = capsys.readouterr().err
    place, _, remedy = told.removeprefix("fedrand: no space left on the disk (").partition("); ")
    assert path in Path(place).parents
    assert remedy == f"go on with: fedrand resume {path}\n"
    monkeypatch.undo()
    assert not (path / "results.json").exists()
    assert RunFolder.open(path).begun
    assert main(["resume", str(path), "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[-1]["event"] == "result"
    assert adapter_hash(path) == adapter_hash(run)


def test_a_finished_run_is_left_as_it_is(run, capsys):
    before = (run / "results.json").stat().st_mtime_ns
    assert main(["resume", str(run)]) == 0
    assert "finished already" in capsys.readouterr().out
    assert (run / "results.json").stat().st_mtime_ns == before


def test_what_travels_is_told_before_the_first_round(told):
    _, text = told
    assert text.index("travels A") < text.index("rounds 1/2") < text.index("rounds 2/2") < text.index("next:")


@pytest.mark.slow
def test_a_real_run_killed_again_and_again_gives_the_same_bits(run, tmp_path):
    path, waits = tmp_path / "killed", iter((4, 7, 9, 8, 10, 9))
    command = [sys.executable, "-m", "fedrand"]
    for begun, wait in enumerate(waits):
        line = ["resume", str(path)] if begun and (path / "recipe.toml").exists() else arguments("--out", path)
        child = subprocess.Popen([*command, *line, "--quiet"], start_new_session=True)
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert main(["resume", str(path), "--quiet"]) == 0
    assert adapter_hash(path) == adapter_hash(run)
