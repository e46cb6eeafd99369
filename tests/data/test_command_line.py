"""The paper's recipes on small folders of the published form, from the command line."""

import json
from pathlib import Path

import pytest
from mini_datasets import coco_folder, nocaps_folder, outline, problem, scienceqa_folder

from fedrand.cli import main
from fedrand.doctor import examine
from fedrand.progress import Progress
from fedrand.recipe import load_recipe

SMALL = (
    "model.name=tiny",
    "data.clients=2",
    "data.min_size=4",
    "train.rounds=1",
    "train.clients_per_round=2",
    "train.max_steps=1",
    "evaluate.client_captions=2",
    "evaluate.max_new_tokens=4",
)


def ran(recipe: str, out: Path, *settings: str) -> dict:
    flags = [word for setting in (*SMALL, *settings) for word in ("--set", setting)]
    assert main(["run", recipe, *flags, "--out", str(out), "--quiet"]) == 0
    return json.loads((out / "results.json").read_text())


def test_coco_runs_with_nocaps_out_of_domain(tmp_path: Path):
    folder = coco_folder(tmp_path / "coco", [outline(n, (1, 18)[n % 2]) for n in range(9, 33)], images=24)
    nocaps = nocaps_folder(tmp_path / "nocaps", images=3)
    server = ran("coco", tmp_path / "run", f"data.path={folder}", f"data.ood_path={nocaps}")["server"]
    assert (server["test"]["captions_n"], server["ood"]["captions_n"]) == (2, 3)
    assert server["test"]["nll"] > 0 and "letter_accuracy" not in server["test"]


@pytest.fixture(scope="module")
def questions(tmp_path_factory) -> Path:
    pictured = {str(n): problem(image="image.png" if n % 2 else None, hint=str(n)) for n in range(20)}
    tests = {str(n): problem(image="image.png" if n == 21 else None, split="test") for n in range(20, 23)}
    return scienceqa_folder(tmp_path_factory.mktemp("sqa"), pictured | tests)


def test_scienceqa_runs_and_its_answers_are_scored_by_letter_and_text(questions: Path, tmp_path: Path):
    results = ran("scienceqa", tmp_path / "run", f"data.path={questions}")
    server = results["server"]
    assert server["test"]["answers_n"] == 3
    assert {"letter_accuracy", "text_accuracy"} <= server["test"].keys() & results["clients"]["mean"]["test"].keys()
    assert (server["qa"]["asked"]["n"], server["qa"]["asked"]["pmi_n"]) == (3, 1)


def test_doctor_draws_who_holds_what(questions: Path, tmp_path: Path):
    recipe = load_recipe("scienceqa", [*SMALL, f"data.path={questions}"])
    told = examine(recipe, Progress(), tmp_path)
    text = (tmp_path / "clients.svg").read_text()
    assert text.startswith("<svg") and "biology" in text
    assert all(f">{counts['biology']}<" in text for counts in told["clients"].values())


def test_a_folder_without_its_file_is_one_line_and_status_2(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "coco", "--set", "model.name=tiny", "--set", f"data.path={tmp_path}", "--quiet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no annotation file at" in line and "instances_train2014.json" in line and "unpack it there" in line


@pytest.mark.parametrize("recipe", ["coco", "scienceqa"])
def test_a_recipe_without_its_path_says_how_to_give_it(recipe: str, capsys, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["run", recipe, "--quiet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f'name = "{recipe}" needs path, the folder that holds' in line and "data.path=FOLDER" in line
