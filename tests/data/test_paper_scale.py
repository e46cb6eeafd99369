"""The paper's tables on small folders in the form of its data: every run, audit and written file of `--scale paper`."""

import json
import re
import shutil
from pathlib import Path

import pytest
from mini_datasets import coco_folder, nocaps_folder, outline, problem, scienceqa_folder

from fedrand.cli import main
from fedrand.data import DataError
from fedrand.errors import InputError
from fedrand.progress import Progress
from fedrand.reproduce.run import reproduce

SMALL = (
    *("model.name=tiny", "data.clients=2", "data.min_size=4", "train.rounds=1", "train.clients_per_round=2"),
    *("train.max_steps=1", "evaluate.client_captions=1", "evaluate.max_new_tokens=2", "audit.bootstrap=20"),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    coco_folder(folder / "coco", [outline(n, (1, 18)[n % 2]) for n in range(9, 49)], images=40)
    nocaps_folder(folder / "nocaps", images=3)
    asked = {str(n): problem(image="image.png" if n % 2 else None, hint=str(n)) for n in range(20)}
    tests = {str(n): problem(hint=str(n), split="test") for n in range(20, 23)}
    scienceqa_folder(folder / "ScienceQA", asked | tests)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_tables_of_the_paper_are_made_from_one_folder_of_data(data, tmp_path):
    flags = [word for setting in SMALL for word in ("--set", setting)]
    for table in ("table1", "table4"):
        command = ["reproduce", table, "--scale", "paper", "--data", str(data), "--seeds", "1", "--workers", "2"]
        assert main([*command, "--out", str(tmp_path), *flags, "--quiet"]) == 0
    first, last = (json.loads((tmp_path / f"table{n}.json").read_text())["lines"] for n in (1, 4))
    measured = {(line["row"], line["column"]) for line in first if line["here"]}
    assert {("FedRand", "accuracy"), ("FedPer 4", "CIDEr"), ("centralised", "NLL")} <= measured
    assert all(line["here"] for line in last) and len(last) == 5 * 2 * 4
    run = json.loads((tmp_path / "runs/captions-fedrand-seed0/results.json").read_text())
    assert (run["data"], run["server"]["ood"]["n"]) == (str(data / "coco"), 3)


def test_a_broken_file_of_either_data_set_is_named_before_any_run(data, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    (folder / "ScienceQA/problems.json").write_text('{"1": ')
    with pytest.raises(DataError, match=r"problems\.json"):
        reproduce("table1", "paper", 1, tmp_path / "out", SMALL, 1, Progress(), folder)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("scale", "lying", "message"),
    [
        ("paper", "", "give --data FOLDER, in which coco, nocaps, ScienceQA lie"),
        (
            "paper",
            "elsewhere",
            "elsewhere/ScienceQA is no folder; --data names the one in which coco, nocaps, ScienceQA lie",
        ),
        ("demo", "elsewhere", "--data is for --scale paper"),
    ],
)
def test_without_the_data_nothing_is_run(scale, lying, message, tmp_path):
    folder = tmp_path / lying if lying else None
    with pytest.raises(InputError, match=re.escape(message)):
        reproduce("table1", scale, 1, tmp_path / "out", (), 1, Progress(), folder)
    assert not (tmp_path / "out").exists()
