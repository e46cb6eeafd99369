"""Datasets from the hub, by the extra `hub`: rows are written once as a folder of one's own, and read as such.

The folder lies in the cache ($XDG_CACHE_HOME or ~/.cache, fedrand/hub); delete it to fetch anew.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fedrand.cachefolder import cache
from fedrand.data.annotations import need
from fedrand.data.example import DataError, Example
from fedrand.data.folder import load_folder
from fedrand.tensorfile import write_atomic

PREFIX = "hub:"
CAPTION_COLUMNS = ("annotations_captions", "captions", "caption", "answer")  # as mirrors of COCO and NoCaps call them

Row = Mapping[str, Any]


def on_hub(path: str) -> bool:
    """Whether a data.path names a dataset of the hub: hub:OWNER/NAME."""
    return path.startswith(PREFIX)


def load_hub(path: str, form: str, splits: Mapping[str, str]) -> list[Example]:
    """The rows of hub:OWNER/NAME. form: "scienceqa" or "captions"; splits: the hub's name -> `Example.split`.

    DataError: the extra is not installed, the hub cannot be read, a column is missing.
    """
    name = path.removeprefix(PREFIX)
    folder = cache() / "hub" / name.replace("/", "--") / "-".join(splits)
    table = folder / "data.jsonl"
    if not table.exists():
        lines = [json.dumps(row) for row in _fetched(name, _FORMS[form], splits, folder)]
        write_atomic(table, "\n".join(lines) + "\n")  # last: a fetch that was cut off leaves no table behind
    return load_folder(folder)


def _fetched(name: str, form: Callable[[Row, str], Row], splits: Mapping[str, str], folder: Path) -> Iterator[Row]:
    try:
        import datasets
    except ImportError as error:
        raise DataError(f"reading {PREFIX}{name} needs an extra: pip install 'fedrand[hub]'") from error
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for split, called in splits.items():
        try:
            rows = datasets.load_dataset(name, split=split).cast_column("image", datasets.Image(decode=False))
        except (OSError, ValueError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise DataError(f"cannot read {name}, split {split}, from the hub ({reason}); check the name") from error
        for number, row in enumerate(rows):
            place = f"{PREFIX}{name}, {split}[{number}]"
            image = _saved(row["image"], folder, f"images/{split}-{number}") if row["image"] else ""
            yield {"id": f"{split}/{number}", "image": image, "split": called, **form(row, place)}


def _saved(image: Mapping[str, Any], folder: Path, stem: str) -> str:
    """Write an undecoded image, {"bytes", "path"}; its name in the folder."""
    name = stem + (Path(image["path"]).suffix if image["path"] else "")
    (folder / name).write_bytes(image["bytes"] or Path(image["path"]).read_bytes())
    return name


def _scienceqa(row: Row, place: str) -> Row:
    need(row, ("question", "choices", "answer", "hint", "topic"), place)
    if not 0 <= row["answer"] < len(row["choices"]):
        raise DataError(f"{place} answers with none of its {len(row['choices'])} choices; take another copy")
    answer = row["choices"][row["answer"]]
    asked = {"question": row["question"], "choices": row["choices"], "answer": answer}
    return {**asked, "hint": row["hint"], "label": row["topic"]}


def _captions(row: Row, place: str) -> Row:
    """label: NoCaps' domain where the copy has it."""
    column = next((name for name in CAPTION_COLUMNS if name in row), "")
    if not column:
        raise DataError(f"{place} has no column of captions ({', '.join(CAPTION_COLUMNS)}); take another copy")
    said = [row[column]] if isinstance(row[column], str) else row[column]
    return {"captions": [" ".join(text.split()) for text in said], "label": row.get("domain", "")}


_FORMS: Mapping[str, Callable[[Row, str], Row]] = {"scienceqa": _scienceqa, "captions": _captions}
