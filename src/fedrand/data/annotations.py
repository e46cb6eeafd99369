"""Annotation files of published datasets: JSON that is there, whole, and has the columns it should have."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedrand.data.example import DataError, ImageSource

Row = Mapping[str, Any]


def first_of(places: Sequence[Path], kind: Callable[[Path], bool], what: str) -> Path:
    """The first of `places` that is there; DataError says what is missing, where it may lie, and what to do."""
    if found := next((place for place in places if kind(place)), None):
        return found
    likely, *others = places
    elsewhere = f" (nor at {', '.join(map(str, others))})" if others else ""
    raise DataError(f"no {what} at {likely}{elsewhere}; unpack it there or correct the path")


def read_json(path: Path, keep: Iterable[str] = ()) -> Mapping[str, Any]:
    """A JSON object. keep: of every object inside only these keys, so that outlines of a million shapes are dropped
    while the file is read. DataError for a file that is cut off or no object."""
    kept = frozenset(keep)
    hook = (lambda pairs: {key: value for key, value in pairs if key in kept}) if kept else None
    try:
        tree = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=hook)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not whole JSON ({error}); get it again") from error
    if not isinstance(tree, dict):
        raise DataError(f"{path} holds no JSON object; get the original file")
    return tree


def rows(tree: Mapping[str, Any], table: str, columns: Sequence[str], path: Path) -> list[Row]:
    """The list `table` of an annotation file, each row with all `columns`; DataError names what is missing."""
    if not isinstance(found := tree.get(table), list):
        raise DataError(f"{path} has no list '{table}'; get the original file")
    for number, row in enumerate(found):
        need(row, columns, f"{path}, {table}[{number}]")
    return found


def need(row: object, columns: Sequence[str], place: str) -> None:
    """DataError unless the row is an object that has all `columns`."""
    have: Mapping[str, object] = row if isinstance(row, dict) else {}
    if missing := [column for column in columns if column not in have]:
        raise DataError(f"{place} has no column '{missing[0]}'; get the original file, or fill it in")


def captions_by_image(annotations: Iterable[Row]) -> dict[Any, tuple[str, ...]]:
    """image_id -> its captions in the file's order, stray newlines and spaces taken out; empty ones dropped."""
    found: dict[Any, list[str]] = {}
    for row in annotations:
        if text := " ".join(str(row["caption"]).split()):
            found.setdefault(row["image_id"], []).append(text)
    return {image: tuple(texts) for image, texts in found.items()}


def image_in(folder: Path, name: str) -> ImageSource:
    """The image of that name; DataError when the name leads out of the folder."""
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise DataError(f"image name '{name}' leads out of {folder}; give a name inside it")
    return ImageSource(path)
