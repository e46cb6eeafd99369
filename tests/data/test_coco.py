"""COCO as published: one class an image by each rule, captions cleaned, and a clear line for each fault."""

import json
import shutil
from pathlib import Path

import pytest
from mini_datasets import coco_folder, outline

from fedrand.data import DataError
from fedrand.data.annotations import read_json
from fedrand.data.coco import load_coco

# image 9: two dogs and a small person; image 10: a large person, a toothbrush; 11: as often dog as person; 12: nothing
OBJECTS = [
    outline(9, 18, 5.0),
    outline(9, 18, 6.0),
    outline(9, 1, 2.0),
    outline(10, 90, 1.0),
    outline(10, 1, 50.0),
    outline(11, 18, 7.0),
    outline(11, 1, 7.0),
]
LABELS = {
    "lowest": ["person", "person", "person", "none"],
    "largest-area": ["dog", "person", "person", "none"],
    "most-frequent": ["dog", "person", "person", "none"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return coco_folder(tmp_path / "coco", OBJECTS)


@pytest.mark.parametrize("rule", LABELS)
def test_each_rule_names_one_class_an_image_and_none_where_nothing_is_outlined(folder: Path, rule: str):
    assert [e.label for e in load_coco(folder, label_rule=rule)] == LABELS[rule]


def test_captions_lose_stray_newlines_and_spaces_and_the_first_is_the_answer(folder: Path):
    first = load_coco(folder)[0]
    assert (first.id, first.prompt, first.answer) == ("train2014/9", "coco", "A thing 9.")
    assert first.references == ("A thing 9.", *(f"A thing 9 seen {n}." for n in range(1, 5)))
    assert first.image is not None and first.image.load().size == (16, 12)


@pytest.mark.parametrize("source", ["train2014", "val2014", "train2017", "val2017"])
def test_every_year_and_both_splits_are_read(tmp_path: Path, source: str):
    examples = load_coco(coco_folder(tmp_path, OBJECTS, source=source), source)
    assert [e.id for e in examples] == [f"{source}/{n}" for n in range(9, 13)]


def test_the_layouts_that_are_about(folder: Path):
    expected = [e.id for e in load_coco(folder)]
    (folder / "images").mkdir()
    shutil.move(folder / "train2014", folder / "images")
    for file in (folder / "annotations").iterdir():
        shutil.move(file, folder)
    assert [e.id for e in load_coco(folder)] == expected


def test_reading_opens_no_image(folder: Path):
    for number, file in enumerate(sorted((folder / "train2014").iterdir())):
        file.write_bytes(b"no image" * (number + 1))
    assert len(load_coco(folder)) == 4


def test_copies_of_a_picture_share_a_group(folder: Path):
    first, second, third, fourth = sorted((folder / "train2014").iterdir())
    shutil.copy(first, fourth)
    units = [e.unit for e in load_coco(folder)]
    assert units[0] == units[3] and len(set(units)) == 3
    assert second.exists() and third.exists()


def edited(path: Path, table: str, change) -> None:
    tree = json.loads(path.read_text())
    change(tree[table])
    path.write_text(json.dumps(tree))


CAPTIONS, INSTANCES = "annotations/captions_train2014.json", "annotations/instances_train2014.json"
FAULTS = {
    "no captions": (lambda f: (f / CAPTIONS).unlink(), "no annotation file at .*captions_train2014.json .*unpack it"),
    "no instances": (lambda f: (f / INSTANCES).unlink(), "no annotation file at .*instances_train2014.json"),
    "cut off": (lambda f: (f / CAPTIONS).write_text('{"images": [{"id"'), "captions_train2014.json is not whole JSON"),
    "a list": (lambda f: (f / INSTANCES).write_text("[]"), "instances_train2014.json holds no JSON object"),
    "no list": (lambda f: (f / CAPTIONS).write_text("{}"), "captions_train2014.json has no list 'annotations'"),
    "no column": (
        lambda f: edited(f / INSTANCES, "annotations", lambda rows: rows[1].pop("category_id")),
        r"instances_train2014.json, annotations\[1\] has no column 'category_id'",
    ),
    "no category": (
        lambda f: edited(f / INSTANCES, "categories", lambda rows: rows.pop(0)),
        "objects of category 1, which it does not name",
    ),
    "no caption": (
        lambda f: edited(f / CAPTIONS, "annotations", lambda rows: rows.__delitem__(slice(5))),
        "has no caption of image 9",
    ),
    "no folder": (lambda f: shutil.rmtree(f / "train2014"), "no folder of images train2014 at .*; unpack it there"),
    "no image": (
        lambda f: next((f / "train2014").glob("*9.jpg")).unlink(),
        r"cannot read image .*000000000009.jpg \(no such file\); put it there",
    ),
    "a way out": (
        lambda f: edited(f / CAPTIONS, "images", lambda rows: rows[0].update(file_name="../x.jpg")),
        r"image name '../x.jpg' leads out of",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_with_the_place_and_the_remedy(folder: Path, fault: str):
    spoil, message = FAULTS[fault]
    spoil(folder)
    with pytest.raises(DataError, match=message) as refused:
        load_coco(folder)
    assert "\n" not in str(refused.value)


def test_outlines_are_dropped_while_the_file_is_read(folder: Path):
    tree = read_json(folder / INSTANCES, keep=("annotations", "image_id"))
    assert tree == {"annotations": [{"image_id": row["image_id"]} for row in OBJECTS]}


def test_an_unknown_label_rule_is_named_with_the_choices(folder: Path):
    with pytest.raises(DataError, match="unknown label rule 'first'; choose from lowest, largest-area, most-frequent"):
        load_coco(folder, label_rule="first")
