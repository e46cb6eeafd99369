"""A folder of one's own data: images with a table (data.jsonl, data.csv) or with same-named .txt captions."""

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from fedrand.data.example import DataError, Example, ImageSource
from fedrand.data.twins import grouped

TABLES = ("data.jsonl", "data.csv")
_PLAIN = ("question", "hint", "label", "sublabel", "group", "client", "split")  # as they are in an Example
COLUMNS = ("id", "image", "caption", "captions", "choices", "answer", "prompt", *_PLAIN)
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
SEPARATOR = "|"  # between captions or choices in one cell of a csv file


@dataclass(frozen=True)
class _Row:
    place: str  # "FOLDER/data.csv line 3", for messages
    values: Mapping[str, Any]

    def text(self, column: str) -> str:
        value = self.values.get(column)
        return "" if value is None else str(value).strip()

    def texts(self, column: str) -> tuple[str, ...]:
        """A list, or one cell with `|` between its parts; empty parts dropped."""
        value: Any = self.values.get(column)
        parts: list[Any] = value if isinstance(value, list) else self.text(column).split(SEPARATOR)
        return tuple(str(part).strip() for part in parts if str(part).strip())


def load_folder(path: Path | str) -> list[Example]:
    """Every example of a folder or of one table in it, in the table's order; of images the headers are read.

    Columns: image; caption or captions, or question, choices, answer (the choice or its number from 0), hint;
    where wanted id, label, sublabel, group, client, split, prompt. Files with the same bytes share a group.
    DataError names the place and the remedy: no folder or images, a broken image, an empty caption, an
    unknown column.
    """
    table = _table(Path(path))
    folder = table.parent if table else Path(path)
    examples = [_example(folder, row) for row in _rows(folder, table)]
    if not examples:
        raise DataError(f"{path} has no images; put images with .txt captions there, or {' or '.join(TABLES)}")
    return grouped(_named(folder, examples))


def _table(path: Path) -> Path | None:
    """The table that `path` is or holds; None for a folder of images with text files."""
    if path.is_file():
        if path.suffix not in _READ:
            raise DataError(f"{path} is no table; give a folder, or a file that ends in {' or '.join(_READ)}")
        return path
    if not path.is_dir():
        raise DataError(f"no data folder at {path}; create it or correct the path")
    tables = [path / name for name in TABLES if (path / name).exists()]
    if len(tables) > 1:
        raise DataError(f"{path} holds both {' and '.join(TABLES)}; keep one")
    return tables[0] if tables else None


def _rows(folder: Path, table: Path | None) -> Iterator[_Row]:
    for row in _READ[table.suffix](table) if table else _captioned_images(folder):
        yield _sayable(row)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} holds text that is not UTF-8; save it as UTF-8") from error


def _sayable(row: _Row) -> _Row:
    """The row; DataError for half of a surrogate pair, which JSON can spell and no text file or tokenizer can hold."""
    try:
        json.dumps(row.values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{row.place} holds half of a character (a lone surrogate); write the whole one") from error
    return row


def _jsonl(table: Path) -> Iterator[_Row]:
    for number, line in enumerate(_text(table).split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{table} line {number}"
        try:
            values: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place} is not JSON ({error}); write one object per line") from error
        if not isinstance(values, dict):
            raise DataError(f'{place} is not a JSON object; write {{"image": ..., "caption": ...}}')
        yield _known_columns(_Row(place, values))


def _csv(table: Path) -> Iterator[_Row]:
    reader = csv.DictReader(io.StringIO(_text(table), newline=""))
    for values in reader:
        place = f"{table} line {reader.line_num}"
        if None in values:
            raise DataError(f"{place} has more cells than the header; quote cells that hold commas")
        yield _known_columns(_Row(place, values))


_READ: Mapping[str, Callable[[Path], Iterator[_Row]]] = {".jsonl": _jsonl, ".csv": _csv}


def _known_columns(row: _Row) -> _Row:
    if unknown := sorted(set(row.values) - set(COLUMNS)):
        raise DataError(f"{row.place} has an unknown column '{unknown[0]}'; choose from {', '.join(COLUMNS)}")
    return row


def _captioned_images(folder: Path) -> Iterator[_Row]:
    for image in sorted(p for p in folder.iterdir() if p.suffix.lower() in IMAGES):
        text = image.with_suffix(".txt")
        if not text.exists():
            raise DataError(f"{image} has no caption; write {text.name} or list the images in {TABLES[0]}")
        lines = _text(text).splitlines()
        yield _Row(str(text), {"image": image.name, "captions": lines})


def _example(folder: Path, row: _Row) -> Example:
    asked = bool(row.text("question"))
    answer, references = _choice(row) if asked else _captions(row)
    return Example(
        id=row.text("id"),
        image=_image(folder, row, needed=not asked),
        prompt=row.text("prompt") or ("scienceqa" if asked else "coco"),
        answer=answer,
        references=references,
        choices=row.texts("choices"),
        **{column: row.text(column) for column in _PLAIN},
    )


def _image(folder: Path, row: _Row, needed: bool) -> ImageSource | None:
    name = row.text("image")
    if not name:
        if needed:
            raise DataError(f"{row.place} names no image; fill the column 'image'")
        return None
    source = ImageSource(folder / name)
    source.check()
    return source


def _captions(row: _Row) -> tuple[str, tuple[str, ...]]:
    captions = row.texts("captions") or tuple(filter(None, [row.text("caption")]))
    if not captions:
        raise DataError(f"{row.place} has an empty caption; write one or remove the image")
    return captions[0], captions


def _choice(row: _Row) -> tuple[str, tuple[str, ...]]:
    """The text of the right answer, given as that text or, among choices, as its number from 0."""
    answer, choices = row.text("answer"), row.texts("choices")
    if choices and answer not in choices:
        if not (answer.isdecimal() and int(answer) < len(choices)):
            raise DataError(f"{row.place} answers with none of its {len(choices)} choices; give one or its number")
        answer = choices[int(answer)]
    if not answer:
        raise DataError(f"{row.place} asks a question without an answer; fill the column 'answer'")
    return answer, (answer,)


def _named(folder: Path, examples: list[Example]) -> list[Example]:
    """Ids for the examples without one: the image's name or the row's number, `#2` for its second use."""
    given = Counter(e.id for e in examples if e.id)
    if repeated := sorted(name for name, uses in given.items() if uses > 1):
        raise DataError(f"{folder} has the id '{repeated[0]}' more than once; make ids unique")
    named: list[Example] = []
    taken = set(given)
    for number, example in enumerate(examples, start=1):
        stem = _relative(folder, example.image.path) if example.image else f"row{number}"
        name = example.id or _free(stem, taken)
        taken.add(name)
        named.append(replace(example, id=name))
    return named


def _relative(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _free(stem: str, taken: set[str]) -> str:
    names = chain([stem], (f"{stem}#{n}" for n in count(2)))
    return next(name for name in names if name not in taken)
