"""Files with the same bytes: copies of one picture, which no split may part."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fedrand.data.example import DataError, Example

HEAD = 4096  # bytes; of a hundred thousand photographs many share a size, hardly any share their beginning too


def grouped(examples: Sequence[Example]) -> list[Example]:
    """Examples of the same picture share a group, called by the id of the first of them, unless the data names groups
    itself. DataError names an image file that is not there."""
    twins = first_copies({e.image.path for e in examples if e.image})
    called: dict[Path, str] = {}
    for example in examples:
        if example.image:
            called.setdefault(twins[example.image.path], example.id)
    return [e if e.group or not e.image else replace(e, group=called[twins[e.image.path]]) for e in examples]


def first_copies(paths: Iterable[Path]) -> dict[Path, Path]:
    """path -> the first path with the same bytes. A file is read only when another has its size, and read to its end
    only when the two begin alike."""
    classes = [sorted(paths)]
    for key in (_size, _head, _digest):
        classes = [finer for same in classes for finer in _parted(same, key)]
    return {path: same[0] for same in classes for path in same}


def _parted(paths: list[Path], key: Callable[[Path], Hashable]) -> Iterator[list[Path]]:
    if len(paths) == 1 and key is not _size:
        return iter([paths])
    found: dict[Hashable, list[Path]] = {}
    for path in paths:
        found.setdefault(key(path), []).append(path)
    return iter(found.values())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError as error:
        raise DataError(f"cannot read image {path} (no such file); put it there or remove its example") from error


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
