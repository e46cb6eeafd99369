"""The two kinds of failure a user meets, which the command line prints as one line, and the commands that such lines name."""

import shlex
from pathlib import Path


class InputError(ValueError):
    """Wrong input: says what was asked, what there is and what to do. Exit status 2."""


class RunError(RuntimeError):
    """A run that could not go on: says why, and how to resume. Exit status 1."""


def quoted(path: Path | str) -> str:
    """A path as a shell takes it, and not for an option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def suggested(command: str, run: Path | str) -> str:
    """A command on a run's folder."""
    return f"fedrand {command} {quoted(run)}"
