"""A run with canaries: the split says who got which, and a run that was stopped goes on to the same bits."""

import errno
import json
import os

from fedrand import tensorfile
from fedrand.audit.run import attacked
from fedrand.cli import main
from fedrand.federation import Memory
from fedrand.params import identical
from fedrand.runfolder import RunFolder
from fedrand.world import build

SETTINGS = (
    "audit.canaries=9",
    "audit.bootstrap=20",
    "data.limit=16",
    "data.clients=2",
    "data.min_size=4",
    "train.rounds=2",
    "train.clients_per_round=1",
    "train.max_steps=2",
    "evaluate.client_captions=0",
    "evaluate.max_new_tokens=1",
)


def test_canaries_survive_a_stop_and_take_no_part_in_other_protocols(tmp_path, monkeypatch, capsys):
    path, left = tmp_path / "run", [28]

    def fsync(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(tensorfile.os, "fsync", fsync)
        words = (word for setting in SETTINGS for word in ("--set", setting))
        assert main(["run", "emoji", *words, "--out", str(path), "--quiet"]) == 1
    folder = RunFolder.open(path)
    assert folder.server().round == 1
    assert main(["resume", str(path), "--quiet"]) == 0

    world = build(folder.recipe)
    *_, last = world.federation().rounds(world.initial(), Memory(), 2)
    assert identical(folder.server().params, last.after.params)

    split = folder.split()
    names = [name for client in split.values() for side in client for name in side if name.startswith("canary-")]
    assert sorted(names) == [f"canary-{i:04d}" for i in range(9)]
    found = attacked(world, folder)
    present = [split[name] for name in split if name not in found["absent"]]
    row = next(row for row in found["protocols"]["P1"]["rows"] if row["model"] == "server")
    counts = [sum(not name.startswith("canary-") for client in present for name in client[side]) for side in (0, 1)]
    assert [row["n_members"], row["n_nonmembers"]] == counts
    assert "canary" not in json.dumps(found["protocols"])
