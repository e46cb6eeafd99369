"""Several runs at once: reused, gone on with, refused; a process that is killed is told, never waited for."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from fedrand.audit.run import audit
from fedrand.crew import Job, _news, _whole, carry_out
from fedrand.errors import InputError, RunError
from fedrand.federation import TooFewClients
from fedrand.progress import Event, Progress
from fedrand.recipe import load_recipe
from fedrand.resident import Resident
from fedrand.runfolder import RunFolder, RunFolderError

SHORT = [
    *("train.rounds=1", "train.max_steps=1", "train.clients_per_round=2", "data.limit=40", "data.clients=2"),
    *("evaluate.client_captions=0", "evaluate.max_new_tokens=2", "audit.bootstrap=20"),
]

BREAKING = ("train.rounds=3", "train.max_steps=3", "train.lr=100", "adapter.scale=1000000")


def job(tmp_path, name, *more, audited=False):
    return Job(load_recipe("emoji", [*SHORT, f"strategy.name={name}", *more]), tmp_path / name, audited)


def test_a_folder_with_another_recipe_is_refused_before_anything_is_run(tmp_path):
    (tmp_path / "fedavg").mkdir()
    other = load_recipe("emoji", [*SHORT, "strategy.name=fedavg", "train.lr=1e-2"])
    from fedrand.runfolder import RunFolder

    RunFolder.create(tmp_path / "fedavg", other)
    jobs = {"one": job(tmp_path, "fedrand"), "two": job(tmp_path, "fedavg")}
    with pytest.raises(InputError, match=r"another recipe \(train.lr was 0.01, is 0.0001\)"):
        carry_out(jobs, 2, Progress())
    assert not (tmp_path / "fedrand").exists()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_more_jobs_than_workers_all_finish_and_are_used_again(tmp_path):
    jobs = {name: job(tmp_path, name) for name in ("fedavg", "fedrand")}
    first = carry_out(jobs, 1, Progress())
    said: list[Event] = []
    again = carry_out(jobs, 2, Progress(said.append))
    assert first.keys() == again.keys() == jobs.keys()
    assert first["fedavg"]["results"] == again["fedavg"]["results"]
    assert sum("used again" in event.text for event in said) == 2
    assert all((folder / "report.html").exists() for folder in tmp_path.iterdir())


def test_a_run_that_another_command_began_meanwhile_with_another_recipe_is_not_used(tmp_path):
    meant = job(tmp_path, "fedavg")
    RunFolder.create(meant.folder, load_recipe("emoji", [*SHORT, "strategy.name=fedavg", "train.lr=1e-2"]))
    with pytest.raises(InputError, match=r"another recipe \(train.lr was 0.01, is 0.0001\)"):
        _whole(meant, Progress(), Resident())


def test_a_finished_run_of_another_model_by_that_name_is_not_used(tmp_path):
    meant, resident = job(tmp_path, "fedavg"), Resident()
    made = _whole(meant, Progress(), resident)["results"]
    assert _whole(meant, Progress(), resident)["results"] == made
    folder = RunFolder(meant.folder)
    environment = folder.read_json("environment.json")
    environment["model"]["fingerprint"] = "that of an earlier model"
    folder.write_json("environment.json", environment)
    with pytest.raises(RunFolderError, match="weights of the base model are not those the run began with"):
        _whole(meant, Progress(), resident)


def test_an_audit_with_other_settings_is_made_again_and_said(tmp_path):
    meant, resident, said = job(tmp_path, "fedavg", audited=True), Resident(), list[Event]()
    made = _whole(meant, Progress(), resident)["audit"]
    other = audit(meant.folder, overrides=("audit.bootstrap=21",))
    assert other["settings"]["bootstrap"] == 21
    again = _whole(meant, Progress(said.append), resident)["audit"]
    assert again["settings"] == made["settings"] and again["protocols"].keys() == made["protocols"].keys()
    assert any("other settings (bootstrap was 21, is 20), so it is made again" in event.text for event in said)
    assert _whole(meant, Progress(), resident)["audit"]["seconds"] == again["seconds"]  # now it is used


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_that_fails_in_its_process_fails_with_its_own_reason(tmp_path):
    with pytest.raises(TooFewClients, match="0 usable uploads"):
        carry_out({"one": job(tmp_path, "fedavg", *BREAKING)}, 1, Progress())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_process_is_an_error_that_names_its_run(tmp_path):
    begun = threading.Event()

    def kill():
        begun.wait(300)
        import multiprocessing

        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    progress = Progress(lambda event: begun.set())
    started = time.monotonic()
    with pytest.raises(RunError, match="the process of one was ended"):
        carry_out({"one": job(tmp_path, "fedavg", "train.rounds=500")}, 1, progress)
    assert time.monotonic() - started < 300


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_runs_whose_parent_was_killed_end_too_and_can_be_gone_on_with(tmp_path):
    script = (
        "from pathlib import Path; from fedrand.crew import *; from fedrand.recipe import load_recipe\n"
        "if __name__ == '__main__':\n"
        f"    recipe = load_recipe('emoji', {[*SHORT, 'train.rounds=500']!r})\n"
        f"    job = Job(recipe, Path({str(tmp_path / 'run')!r}), False)\n"
        "    carry_out({'one': job}, 1, Progress(lambda event: print(event, flush=True)))\n"
    )
    (tmp_path / "parent.py").write_text(script)
    with subprocess.Popen([sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.kill()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(RunFolderError), RunFolder(tmp_path / "run").locked():
            return
        time.sleep(0.2)
    pytest.fail("the run is locked still")


@pytest.mark.parametrize(("exitcode", "said"), [(1, "broke; how, is said above"), (-9, "perhaps for want of memory")])
def test_a_process_that_broke_is_not_told_as_one_that_was_killed(exitcode, said):
    gone = SimpleNamespace(is_alive=lambda: False, exitcode=exitcode)
    with pytest.raises(RunError, match=said):
        list(_news({"one": gone}, queue.Queue(), Progress()))
