"""The JSON files of a run folder: whole and of the right shape, or one line with the place and the remedy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from fedrand.errors import InputError, quoted

AUDIT_VERSION = 3  # of audit.json: 2 added a verdict per adversary, 3 what may be said without a leak, scores by item
LOST = "put it back from a copy, or make a new run: fedrand run RECIPE --out NEW"  # where nothing else holds the same

# What each file must hold to be of use, and what to do when it is not whole; {run} is the folder.
_FILES: Mapping[str, tuple[Mapping[str, type], str]] = {
    "environment.json": ({"recipe": dict, "model": dict, "data": dict, "versions": dict}, LOST),
    "data/split.json": ({"clients": dict}, LOST),
    "results.json": (
        {"method": str, "rounds": int, "server": dict, "clients": dict},
        "delete it, and it is made anew by: fedrand resume {run}",
    ),
    "audit.json": ({}, "make it again with: fedrand audit {run}"),
}
_MISSING = {"results.json": "finish the run with: fedrand resume {run}"}


class RunFolderError(InputError):
    """A folder that is no run, is one already, is in use, or does not fit its recipe."""


def read_object(run: Path, name: str) -> dict[str, Any]:
    """A file that a run or its audit wrote; RunFolderError when it is missing, cut off or of another shape."""
    path, (shape, told) = run / name, _FILES[name]
    remedy = told.format(run=quoted(run))
    try:
        return json_object(path.read_text(encoding="utf-8"), str(path), shape, remedy)
    except FileNotFoundError as error:
        raise RunFolderError(f"{path} is missing; {_MISSING.get(name, told).format(run=quoted(run))}") from error
    except UnicodeDecodeError as error:
        raise RunFolderError(f"{path} is not text ({error.reason}); {remedy}") from error


def json_object(
    text: str, where: str, shape: Mapping[str, type], remedy: str, error: type[InputError] = RunFolderError
) -> dict[str, Any]:
    """The object that `text` holds; `error` when it is no JSON, has NaN, or lacks a key of `shape` with its type."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as fault:
        raise error(f"{where} is cut off or not JSON ({fault}); {remedy}") from fault
    if not isinstance(value, dict):
        raise error(f"{where} holds a {type(value).__name__}, not an object; {remedy}")
    for key, kind in shape.items():
        if not isinstance(value.get(key), kind):
            raise error(f"{where} has no {_KINDS[kind]} '{key}'; {remedy}")
    return value


_KINDS = {dict: "object", list: "list", str: "text", int: "whole number"}


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
