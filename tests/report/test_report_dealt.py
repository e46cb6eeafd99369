"""The picture of who holds what: every number is text, and colour only repeats it."""

import re
from xml.etree import ElementTree

from fedrand.report.dealt import DEEPEST, dealt
from fedrand.report.theme import style

HELD = {"c00": {"cat": 8, "dog": 2}, "c01": {"dog": 4, "": 1}}


def texts(picture: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(picture).iter() if node.tag.endswith("text")]


def test_every_count_and_every_clients_sum_stands_as_text():
    assert texts(dealt(HELD))[:-1] == [
        "(no label)",
        "cat",
        "dog",
        "all",
        "c00",
        "0",
        "8",
        "2",
        "10",
        "c01",
        "1",
        "0",
        "4",
        "5",
    ]
    assert "the deepest colour is 8" in texts(dealt(HELD))[-1]


def test_colour_goes_with_the_count():
    depths = [float(depth) for depth in re.findall(r'fill-opacity="([\d.]+)"', dealt(HELD))]
    assert depths == [DEEPEST, round(DEEPEST / 4, 2), round(DEEPEST / 8, 2), round(DEEPEST / 2, 2)]


def test_every_cell_lies_inside_the_picture_and_no_two_on_each_other():
    picture = dealt({f"client{n}": {f"class{k}": n + k for k in range(30)} for n in range(12)})
    width, height = (int(size) for size in re.findall(r'viewBox="0 0 (\d+) (\d+)"', picture)[0])
    boxes = re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"', picture)
    places = [tuple(map(int, box)) for box in boxes]
    assert len({(x, y) for x, y, _, _ in places}) == len(places) == 12 * 30 - 1
    assert all(x + w < width and y + h < height for x, y, w, h in places)


def test_a_name_is_text_whatever_it_holds():
    assert "<script>" not in dealt({"<script>": {"<b>": 1}})


def test_with_a_style_it_is_a_file_on_its_own():
    root = ElementTree.fromstring(dealt(HELD, style("drawing.css")))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
