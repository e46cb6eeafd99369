"""What the paper prints, by table, part and row."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources


@cache
def _numbers() -> Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]:
    return tomllib.loads(resources.files("fedrand.reproduce").joinpath("paper.toml").read_text(encoding="utf-8"))


def printed(table: str, part: str, row: str) -> Sequence[float] | None:
    """One row's numbers in the order of the table's columns; None where the paper has no such row."""
    return _numbers().get(table, {}).get(part, {}).get(row)
