"""A folder of one's own: its three forms, and a clear line for each thing that may be wrong with it."""

import json
from pathlib import Path

import pytest
from PIL import Image

from fedrand.data import DataError, load_folder


def draw(folder: Path, *names: str) -> None:
    """A different picture per name."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(folder / name)


def table(folder: Path, *rows: dict) -> None:
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_jsonl_with_captions(tmp_path: Path):
    draw(tmp_path, "a.png", "b.png")
    table(
        tmp_path,
        {"image": "a.png", "captions": ["a cat", "one cat"], "label": "cat", "client": "north"},
        {"image": "b.png", "caption": " a dog ", "split": "test"},
    )
    cat, dog = load_folder(tmp_path)
    assert (cat.id, cat.prompt, cat.answer, cat.references) == (
        "a.png",
        "coco",
        "a cat",
        ("a cat", "one cat"),
    )
    assert (cat.label, cat.client, dog.answer, dog.split) == ("cat", "north", "a dog", "test")
    assert cat.image.load().size == (4, 4)


def test_csv_with_captions_and_with_questions(tmp_path: Path):
    draw(tmp_path, "a.png", "b.png")
    (tmp_path / "data.csv").write_text(
        'image,captions,question,choices,answer\na.png,"a cat, asleep|one cat",,,\nb.png,,What is it?,cat|dog,1\n',
        encoding="utf-8-sig",
    )
    caption, question = load_folder(tmp_path)
    assert caption.references == ("a cat, asleep", "one cat")
    assert (question.prompt, question.choices, question.answer) == ("scienceqa", ("cat", "dog"), "dog")


def test_images_with_text_files(tmp_path: Path):
    draw(tmp_path, "b.png", "a.JPG")
    (tmp_path / "a.txt").write_text("a cat\n\none cat\n")
    (tmp_path / "b.txt").write_text("a dog | a hound\n")
    first, second = load_folder(tmp_path)
    assert (first.id, first.references) == ("a.JPG", ("a cat", "one cat"))
    assert second.references == ("a dog | a hound",)


def test_a_question_may_have_no_image_and_its_answer_may_be_a_number_or_the_text(tmp_path: Path):
    asked = {"question": "Which?", "choices": ["2", "0"], "hint": "even"}
    table(
        tmp_path,
        {**asked, "answer": 0},
        {**asked, "answer": "2"},
        {**asked, "choices": ["x", "y"], "answer": 1},
    )
    by_text, text, number = load_folder(tmp_path)
    assert [e.answer for e in (by_text, text, number)] == ["0", "2", "y"]
    assert by_text.image is None and by_text.hint == "even"
    assert [e.id for e in (by_text, text, number)] == ["row1", "row2", "row3"]


def test_two_rows_of_one_image_have_their_own_ids_and_one_group(tmp_path: Path):
    draw(tmp_path, "a.png")
    table(tmp_path, {"image": "a.png", "caption": "x"}, {"image": "a.png", "caption": "y"})
    first, second = load_folder(tmp_path)
    assert (first.id, second.id) == ("a.png", "a.png#2")
    assert first.unit == second.unit


def test_copies_of_a_file_share_a_group_and_different_files_of_one_name_do_not(tmp_path: Path):
    draw(tmp_path, "x/a.png", "y/a.png")
    (tmp_path / "copy.png").write_bytes((tmp_path / "y/a.png").read_bytes())
    table(tmp_path, *({"image": name, "caption": "c"} for name in ("x/a.png", "y/a.png", "copy.png")))
    one, two, copy = load_folder(tmp_path)
    assert two.unit == copy.unit != one.unit


def test_a_group_that_the_table_names_is_kept(tmp_path: Path):
    draw(tmp_path, "a.png")
    table(tmp_path, {"image": "a.png", "caption": "c", "group": "patient 7", "id": "scan"})
    (example,) = load_folder(tmp_path)
    assert (example.id, example.unit) == ("scan", "patient 7")


def test_an_image_may_lie_elsewhere(tmp_path: Path):
    draw(tmp_path, "a.png")
    (tmp_path / "data").mkdir()
    table(tmp_path / "data", {"image": str(tmp_path / "a.png"), "caption": "c"})
    assert load_folder(tmp_path / "data")[0].id == "../a.png"


def test_a_table_of_any_name_is_read_by_its_path(tmp_path: Path):
    draw(tmp_path, "a.png")
    (tmp_path / "part2.csv").write_text("image,caption\na.png,a cat\n")
    (example,) = load_folder(tmp_path / "part2.csv")
    assert (example.id, example.answer) == ("a.png", "a cat")


def test_a_file_that_is_no_table(tmp_path: Path):
    draw(tmp_path, "a.png")
    with pytest.raises(DataError, match=r"a.png is no table; give a folder, or a file that ends in .jsonl or .csv"):
        load_folder(tmp_path / "a.png")


def test_a_folder_that_is_not_there(tmp_path: Path):
    with pytest.raises(DataError, match=r"no data folder at .*absent; create it"):
        load_folder(tmp_path / "absent")


def test_a_folder_without_images(tmp_path: Path):
    with pytest.raises(DataError, match=r"has no images; put images with .txt captions there, or data.jsonl"):
        load_folder(tmp_path)


def test_two_tables(tmp_path: Path):
    (tmp_path / "data.jsonl").touch()
    (tmp_path / "data.csv").touch()
    with pytest.raises(DataError, match=r"holds both data.jsonl and data.csv; keep one"):
        load_folder(tmp_path)


def test_an_image_without_a_text_file(tmp_path: Path):
    draw(tmp_path, "a.png")
    with pytest.raises(DataError, match=r"a.png has no caption; write a.txt"):
        load_folder(tmp_path)


def test_an_empty_text_file(tmp_path: Path):
    draw(tmp_path, "a.png")
    (tmp_path / "a.txt").write_text("\n \n")
    with pytest.raises(DataError, match=r"a.txt has an empty caption"):
        load_folder(tmp_path)


def test_a_broken_image(tmp_path: Path):
    (tmp_path / "a.png").write_bytes(b"no image")
    table(tmp_path, {"image": "a.png", "caption": "c"})
    with pytest.raises(DataError, match=r"cannot read image .*a.png"):
        load_folder(tmp_path)


def test_text_that_is_not_utf8(tmp_path: Path):
    draw(tmp_path, "a.png")
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match="not UTF-8; save it as UTF-8"):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"image": "a.png", "caption": " "}, "line 1 has an empty caption"),
        ({"image": "a.png"}, "line 1 has an empty caption"),
        ({"caption": "c"}, "line 1 names no image; fill the column 'image'"),
        ({"image": "gone.png", "caption": "c"}, r"gone.png \(no such file\)"),
        ({"image": "a.png", "captoin": "c"}, "unknown column 'captoin'; choose from id, image, caption"),
        ({"question": "?", "choices": ["x", "y"], "answer": "z"}, "answers with none of its 2 choices"),
        ({"question": "?", "choices": ["x", "y"], "answer": 2}, "answers with none of its 2 choices"),
        ({"question": "?"}, "a question without an answer"),
    ],
)
def test_a_wrong_row_is_named_by_its_line(tmp_path: Path, row: dict, message: str):
    draw(tmp_path, "a.png")
    table(tmp_path, row)
    with pytest.raises(DataError, match=message):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"image": ', "line 1 is not JSON"),
        ("[1]\n", "line 1 is not a JSON object"),
        ('{"image": "a.png", "caption": "\\ud800"}\n', "line 1 holds half of a character"),
    ],
)
def test_a_line_that_is_not_an_object(tmp_path: Path, text: str, message: str):
    (tmp_path / "data.jsonl").write_text(text)
    with pytest.raises(DataError, match=message):
        load_folder(tmp_path)


def test_a_csv_row_with_too_many_cells(tmp_path: Path):
    (tmp_path / "data.csv").write_text("image,caption\na.png,a cat, asleep\n")
    with pytest.raises(DataError, match="line 2 has more cells than the header; quote cells that hold commas"):
        load_folder(tmp_path)


def test_one_id_used_twice(tmp_path: Path):
    draw(tmp_path, "a.png")
    table(tmp_path, *[{"id": "s", "image": "a.png", "caption": "c"}] * 2)
    with pytest.raises(DataError, match="the id 's' more than once"):
        load_folder(tmp_path)
