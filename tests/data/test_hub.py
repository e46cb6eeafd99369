"""Rows in the hub's form are written once as a folder and read as such; no network, a small stand-in for `datasets`."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from fedrand.data import DataError
from fedrand.data.hub import load_hub
from fedrand.datasets import load_dataset
from fedrand.progress import Progress
from fedrand.settings import DataTable


class Rows(list):
    """What `datasets.load_dataset` gives, as far as it is used."""

    def cast_column(self, column: str, feature: object) -> "Rows":
        assert (column, feature) == ("image", "undecoded")
        return self


def picture(shade: int) -> dict:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": f"{shade}.png"}


def question(number: int, **other: object) -> dict:
    asked = {"question": "Which?", "choices": ["2", "0", "1"], "answer": 1, "hint": "", "topic": "maths"}
    more = {"task": "closed choice", "grade": "grade2", "subject": "", "category": "", "skill": "", "lecture": ""}
    return {"image": picture(number), **asked, **more, "solution": "", **other}


def caption(number: int, column: str = "annotations_captions", **other: object) -> dict:
    return {"image": picture(number), "image_id": number, column: [f" a thing {number}\n", "a  thing"], **other}


@pytest.fixture
def hub(monkeypatch, tmp_path: Path):
    """name -> split -> rows; what was asked for is noted."""
    held: dict[str, dict[str, list]] = {}
    asked: list[tuple[str, str]] = []

    def load(name: str, split: str) -> Rows:
        asked.append((name, split))
        if name not in held:
            raise FileNotFoundError(f"Dataset '{name}' doesn't exist\non the hub")
        return Rows(held[name][split])

    fake = SimpleNamespace(load_dataset=load, Image=lambda decode: "decoded" if decode else "undecoded")
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return SimpleNamespace(held=held, asked=asked)


def test_scienceqa_rows_keep_their_answer_hint_topic_and_split(hub):
    hub.held["who/sqa"] = {
        "train": [question(1), question(2, image=None, hint="Count.")],
        "validation": [question(3)],
        "test": [question(4, topic="physics")],
    }
    table = DataTable.model_validate({"name": "scienceqa", "path": "hub:who/sqa"})
    found = load_dataset(table, 0, Progress())
    first, second = found.pool
    assert (first.id, first.answer, first.label, first.prompt) == ("train/0", "0", "maths", "scienceqa")
    assert first.image is not None and first.image.load().size == (8, 8)
    assert (second.image, second.hint) == (None, "Count.")
    assert [e.label for e in found.splits["test"]] == ["physics"]
    assert load_dataset(table, 0, Progress()) == found
    assert hub.asked == [("who/sqa", "train"), ("who/sqa", "validation"), ("who/sqa", "test")]  # once, not twice


@pytest.mark.parametrize("column", ["annotations_captions", "captions", "caption", "answer"])
def test_captions_are_found_by_the_names_that_mirrors_give_them(hub, column: str):
    hub.held["who/coco"] = {"train": [caption(1, column)]}
    (example,) = load_hub("hub:who/coco", "captions", {"train": ""})
    assert (example.references, example.label) == (("a thing 1", "a thing"), "")


def test_a_copy_of_nocaps_without_domains_is_out_of_domain_as_a_whole_but_not_by_domain(hub):
    hub.held["who/coco"] = {"val": [caption(n) for n in range(12)]}
    hub.held["who/nocaps"] = {"validation": [caption(50), caption(51)]}
    values = {"name": "coco", "path": "hub:who/coco", "source": "val2014", "ood_path": "hub:who/nocaps"}
    assert len(load_dataset(DataTable.model_validate(values), 0, Progress()).splits["ood"]) == 2
    with pytest.raises(DataError, match="hub:who/nocaps does not say which domain an image is of"):
        load_dataset(DataTable.model_validate({**values, "domain": "in-domain"}), 0, Progress())


def test_a_copy_of_nocaps_with_domains_is_taken_by_domain(hub):
    rows = [caption(n, domain=("in-domain", "out-domain")[n % 2]) for n in range(20)]
    hub.held["who/nocaps"] = {"validation": rows}
    values = {"name": "nocaps", "path": "hub:who/nocaps", "domain": "out-domain"}
    found = load_dataset(DataTable.model_validate(values), 0, Progress())
    assert len(found.pool) + len(found.splits["test"]) == 10


def test_without_the_extra_the_command_that_installs_it_is_told(monkeypatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"reading hub:who/sqa needs an extra: pip install 'fedrand\[hub\]'"):
        load_hub("hub:who/sqa", "scienceqa", {"train": "train"})


def test_a_name_that_the_hub_does_not_know_is_one_line(hub):
    with pytest.raises(DataError, match=r"cannot read who/nothing, split train, .*doesn't exist\); check") as refused:
        load_hub("hub:who/nothing", "scienceqa", {"train": "train"})
    assert "\n" not in str(refused.value)


FAULTS = {
    "scienceqa": ({"question": "?"}, r"hub:who/x, train\[1\] has no column 'choices'"),
    "captions": ({"text": "?"}, r"hub:who/x, train\[1\] has no column of captions"),
}


@pytest.mark.parametrize("form", FAULTS)
def test_a_fetch_that_fails_leaves_no_table_behind(hub, tmp_path: Path, form: str):
    row, message = FAULTS[form]
    good = question(1) if form == "scienceqa" else caption(1)
    hub.held["who/x"] = {"train": [good, {"image": None, **row}]}
    with pytest.raises(DataError, match=message):
        load_hub("hub:who/x", form, {"train": "train"})
    assert not list((tmp_path / "cache").rglob("data.jsonl"))
