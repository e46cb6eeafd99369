"""ScienceQA as published: its splits, questions with and without a picture, and duplicates that stay together."""

from pathlib import Path

import pytest
from mini_datasets import dump, problem, scienceqa_folder

from fedrand.data import DataError, render
from fedrand.data.scienceqa import load_scienceqa

FIVE = ["ice", "water", "steam", "fog", "snow"]
PROBLEMS = {
    "1": problem(image="image.png"),
    "2": problem(choices=FIVE, answer=4, hint="It is cold.\n", topic="physics"),
    "3": problem(image="image.png", split="val"),
    "5": problem(image="image.png", split="test", question="What is it?"),
}


def test_a_question_keeps_its_choices_topic_hint_and_split(tmp_path: Path):
    seen, asked, val, test = load_scienceqa(scienceqa_folder(tmp_path, PROBLEMS))
    assert [e.split for e in (seen, asked, val, test)] == ["train", "train", "val", "test"]
    assert (seen.id, seen.choices, seen.answer, seen.label) == ("scienceqa/1", ("frog", "cat"), "cat", "biology")
    assert seen.image is not None and seen.image.path == tmp_path / "images" / "train" / "1" / "image.png"
    assert (asked.image, asked.choices, asked.answer, asked.hint) == (None, tuple(FIVE), "snow", "It is cold.")


def test_a_question_without_a_picture_is_asked_without_one(tmp_path: Path):
    _, asked, *_ = load_scienceqa(scienceqa_folder(tmp_path, PROBLEMS))
    assert render(asked) == (
        "Based on the image, respond to the question with a given options. USER: \n Question: Which is a mammal? "
        "Context: It is cold. Options: (A) ice (B) water (C) steam (D) fog (E) snow. Answer: ASSISTANT:"
    )


def test_the_layout_without_a_folder_of_images(tmp_path: Path):
    scienceqa_folder(tmp_path, PROBLEMS)
    for split in ("train", "val", "test"):
        (tmp_path / "images" / split).rename(tmp_path / split)
    (tmp_path / "images").rmdir()
    assert len(load_scienceqa(tmp_path)) == 4


def test_questions_about_copies_of_a_picture_share_a_group(tmp_path: Path):
    problems = {str(n): problem(image="image.png") for n in range(3)}
    first, second, third = load_scienceqa(scienceqa_folder(tmp_path, problems, {"0": 7, "1": 8, "2": 7}))
    assert first.unit == third.unit != second.unit


def test_the_same_question_without_a_picture_is_one_group_whatever_the_order_of_its_choices(tmp_path: Path):
    same = {"1": problem(), "2": problem(choices=["cat", "frog"], answer=0), "3": problem(hint="Think.")}
    first, turned, hinted = load_scienceqa(scienceqa_folder(tmp_path, same))
    assert first.unit == turned.unit != hinted.unit


FAULTS = {
    "no problems": (lambda f: (f / "problems.json").unlink(), "no annotation file at .*problems.json; unpack it there"),
    "no splits": (lambda f: (f / "pid_splits.json").unlink(), "no annotation file at .*pid_splits.json"),
    "cut off": (lambda f: (f / "problems.json").write_text('{"1": {"que'), "problems.json is not whole JSON"),
    "no test": (lambda f: dump(f / "pid_splits.json", {"train": [], "val": []}), "has no column 'test'"),
    "another": (lambda f: dump(f / "problems.json", {"1": problem()}), "problem 2 is not there though pid_splits.json"),
    "no image": (
        lambda f: (f / "images" / "train" / "1" / "image.png").unlink(),
        r"cannot read image .*train/1/image.png \(no such file\)",
    ),
    "no choice": (
        lambda f: dump(f / "problems.json", {**PROBLEMS, "2": problem(answer=2)}),
        "problem 2 answers with none of its 2 choices",
    ),
    "no column": (
        lambda f: dump(f / "problems.json", {**PROBLEMS, "2": {"question": "?"}}),
        "problem 2 has no column 'choices'",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_with_the_place_and_the_remedy(tmp_path: Path, fault: str):
    spoil, message = FAULTS[fault]
    spoil(scienceqa_folder(tmp_path, PROBLEMS))
    with pytest.raises(DataError, match=message) as refused:
        load_scienceqa(tmp_path)
    assert "\n" not in str(refused.value)
