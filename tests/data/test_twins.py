"""Copies of a file are found, and nothing is read that need not be."""

from pathlib import Path

from fedrand.data import twins
from fedrand.data.twins import HEAD, first_copies


def test_a_copy_leads_to_the_first_file_with_its_bytes(tmp_path: Path):
    start = b"x" * HEAD
    contents = {"a": start + b"1", "b": start + b"2", "c": start + b"1", "d": b"short", "e": b"shirt"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    found = first_copies(tmp_path / name for name in contents)
    assert {path.name: first.name for path, first in found.items()} == {**{n: n for n in "abde"}, "c": "a"}


def test_a_file_is_read_to_its_end_only_when_another_has_its_size_and_beginning(tmp_path: Path, monkeypatch):
    contents = {"alone": b"123", "x": b"same size", "y": b"another 1", "one": b"copy", "two": b"copy"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    read, whole = [], twins._digest
    monkeypatch.setattr(twins, "_digest", lambda path: read.append(path.name) or whole(path))
    first_copies(tmp_path / name for name in contents)
    assert read == ["one", "two"]
