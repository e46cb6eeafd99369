"""Append-only text files whose lines belong to rounds; after a kill they are cut back to the last whole round."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from fedrand.runfile import LOST, RunFolderError
from fedrand.tensorfile import named, write_atomic


def json_round(line: str) -> int:
    return int(json.loads(line)["round"])


def csv_round(line: str) -> int:
    return int(line.partition(",")[0])


@dataclass(frozen=True)
class Lines:
    """A line per thing that happened in a round; `header` is the first line of the file, if it has one."""

    path: Path
    round_of: Callable[[str], int]
    header: str = ""

    def append(self, lines: Iterable[str]) -> None:
        """Add whole lines; they are on the disk when this returns."""
        begin = [self.header] if self.header and not self.path.exists() else []
        with named(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in (*begin, *lines)))
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> list[str]:
        """Every whole line after the header; a last line without its end is torn and left out. RunFolderError when the
        header is not there: the line in its place would be lost."""
        if not self.path.exists():
            return []
        text = self.path.read_bytes().decode("utf-8", errors="replace")  # a torn line may end inside a character
        whole = text[: text.rfind("\n") + 1].splitlines()
        if self.header and whole and whole[0] != self.header:
            raise RunFolderError(f"{self.path} does not begin with the line '{self.header}'; {LOST}")
        return whole[1:] if self.header else whole

    def cut(self, round: int) -> None:
        """Drop what belongs to `round` or a later one, and a torn last line; RunFolderError for a line of no round."""
        if self.path.exists():
            kept = [line for number, line in enumerate(self.read(), 1) if self._round(line, number) < round]
            begin = [self.header] if self.header else []
            write_atomic(self.path, "".join(f"{line}\n" for line in (*begin, *kept)))

    def _round(self, line: str, number: int) -> int:
        try:
            return self.round_of(line)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            place = f"{self.path} line {number + bool(self.header)}"
            raise RunFolderError(f"{place} belongs to no round ({type(error).__name__}); {LOST}") from error
