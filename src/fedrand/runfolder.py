"""A run on disk: every file is whole or not there, and a kill at any moment costs at most the round it fell in.

The commit point is server/state.safetensors: what it does not count did not happen, and is cut when the run goes on.
"""

import fcntl
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fedrand.checkpoint import read_server, write_server
from fedrand.errors import suggested
from fedrand.federation import Round
from fedrand.ledger import HEADER, Row, metrics
from fedrand.lines import Lines, csv_round, json_round
from fedrand.messages import ServerState
from fedrand.recipe import Recipe, differences, from_json, from_toml, to_toml
from fedrand.runfile import LOST, RunFolderError, json_object, read_object
from fedrand.shelf import DiskShelf
from fedrand.tensorfile import PART, TensorFileError, remove_parts, write_atomic

_ROUND: Mapping[str, type] = {"round": int, "clients": dict, "bytes": dict}


class Transcript(Protocol):
    """What was broadcast and uploaded; `truncate` drops what belongs to `round` or a later one."""

    def record(self, round: Round) -> None: ...

    def truncate(self, round: int) -> None: ...


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @classmethod
    def create(cls, path: Path, recipe: Recipe) -> "RunFolder":
        """A new run with its recipe; RunFolderError when there is one."""
        folder = cls(path)
        if folder.is_run and folder.begun:
            raise RunFolderError(
                f"{path} holds a run already; go on with: {suggested('resume', path)}, or name another --out"
            )
        if folder.is_run:
            with folder.locked():  # refused or killed before its first round: nothing is lost
                write_atomic(folder.path / "recipe.toml", to_toml(recipe))
            return folder
        if path.exists() and (not path.is_dir() or any(not _harmless(entry) for entry in path.iterdir())):
            raise RunFolderError(f"{path} exists and is no run; name another --out")
        path.mkdir(parents=True, exist_ok=True)
        write_atomic(folder.path / "recipe.toml", to_toml(recipe))
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The run at `path`; RunFolderError when there is none."""
        if not cls(path).is_run:
            raise RunFolderError(f"no run in {path}; start one with: fedrand run RECIPE --out {path}")
        return cls(path)

    @property
    def is_run(self) -> bool:
        return (self.path / "recipe.toml").is_file()

    @property
    def recipe(self) -> Recipe:
        return from_toml(self.path / "recipe.toml")

    @property
    def begun(self) -> bool:
        """Whether the initialisation was finished; one that was not is done anew."""
        return self._state.is_file()

    @property
    def finished(self) -> bool:
        return (self.path / "results.json").is_file()

    @property
    def transcript(self) -> Path:
        return self.path / "transcript"

    @property
    def adapter(self) -> Path:
        return self.path / "server" / "adapter"

    @property
    def _state(self) -> Path:
        return self.path / "server" / "state.safetensors"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out; the lock ends with this process, however it ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunFolderError(f"another process works on {self.path}; wait for it or stop it") from error
            yield

    def shelf(self) -> DiskShelf:
        return DiskShelf(self.path / "clients")

    def begin(self, environment: Mapping[str, Any], split: Mapping[str, Any], server: ServerState) -> None:
        """Round 0; after this a kill is resumed, before it the initialisation is repeated."""
        self.write_json("environment.json", {**environment, "recipe": self.recipe.model_dump(mode="json")})
        self.write_json("data/split.json", split)
        self.commit(server)

    def check_recipe(self, free: str = "") -> None:
        """RunFolderError when the recipe is not the one the run began with, naming what changed; a table `free` may have."""
        began = from_json(self.read_json("environment.json")["recipe"], str(self.path / "environment.json"))
        both = (one.model_dump(mode="json") for one in (began, self.recipe))
        if changed := [line for line in differences(*both) if not free or not line.startswith(f"{free}.")]:
            self._refuse(f"recipe.toml changed since the run began: {'; '.join(changed)}")

    def check_world(self, environment: Mapping[str, Any], split: Mapping[str, Any]) -> None:
        """RunFolderError when base model, data or its split are not those the run began with."""
        began = self.read_json("environment.json")
        for what in ("model", "data"):
            if changed := list(differences(began[what], environment[what], f"{what}.")):
                self._refuse(f"the {what} changed since the run began: {'; '.join(changed)}")
        if self.read_json("data/split.json") != json.loads(json.dumps(split)):
            self._refuse("the split of the data among clients changed since the run began")

    def check_model(self, fingerprint: str) -> None:
        """RunFolderError when these are not the weights that the run began with, whatever the model is called."""
        if fingerprint != self.read_json("environment.json")["model"]["fingerprint"]:
            self._refuse("the weights of the base model are not those the run began with")

    def _refuse(self, what: str) -> None:
        raise RunFolderError(f"{self.path}: {what}; put it back, or start a new run with another --out")

    def server(self) -> ServerState:
        """The server's state at the start of the next round."""
        try:
            return read_server(self._state)
        except (TensorFileError, FileNotFoundError) as error:
            raise RunFolderError(f"{self._state} is missing or not whole; start the run anew") from error

    def commit(self, server: ServerState) -> None:
        """Make `server` the state that a resumed run goes on from."""
        write_server(self._state, server)

    def note(self, message: Row) -> None:
        """Write a message down as it travels: a kill that costs its round does not call it back."""
        self._ledger.append([str(message)])

    def record(self, round: Round, messages: Sequence[Row], transcript: Transcript, **more: Any) -> dict[str, Any]:
        """Write down a round whose messages are noted, then commit it; returns its line of metrics.jsonl, with `more` at
        its end."""
        line = {**metrics(round, messages), **more}
        transcript.record(round)
        self._metrics.append([json.dumps(line, allow_nan=False)])
        self.commit(round.after)
        return line

    def cut(self, transcript: Transcript) -> ServerState:
        """Drop every trace of the round that was not committed, but what it sent; returns the state to go on from."""
        server = self.server()
        self._metrics.cut(server.round)
        self._ledger.cut(server.round + 1)
        if (known := len(self._metrics.read())) != server.round:
            raise RunFolderError(f"{self._metrics.path} holds {known} of {server.round} rounds; {LOST}")
        self.check_ledger()
        transcript.truncate(server.round)
        remove_parts(self.path)
        return server

    def ledger(self) -> list[Row]:
        """Every message so far; RunFolderError for a line that is none."""
        return [self._message(line, number) for number, line in enumerate(self._ledger.read(), 2)]

    def _message(self, line: str, number: int) -> Row:
        try:
            return Row.parse(line)
        except ValueError as error:
            raise RunFolderError(f"{self._ledger.path} line {number} is no row of {HEADER}; {LOST}") from error

    def check_ledger(self) -> None:
        """RunFolderError when the ledger has not the bytes that metrics.jsonl says travelled in each round."""
        found = Counter[tuple[int, str]]()
        for row in self.ledger():
            found[row.round, row.direction] += row.bytes
        until = self.server().round
        for line in (line for line in self.metrics() if line["round"] < until):
            for way, size in line["bytes"].items():
                if (known := found[line["round"], way]) != size:
                    place = f"{self._ledger.path} holds {known} of the {size} bytes of {way} of round {line['round']}"
                    raise RunFolderError(f"{place}; {LOST}")

    def metrics(self) -> list[dict[str, Any]]:
        lines, path = self._metrics.read(), self._metrics.path
        return [json_object(line, f"{path} line {number}", _ROUND, LOST) for number, line in enumerate(lines, 1)]

    @property
    def _metrics(self) -> Lines:
        return Lines(self.path / "metrics.jsonl", json_round)

    @property
    def _ledger(self) -> Lines:
        return Lines(self.path / "ledger.csv", csv_round, HEADER)

    def split(self) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
        """client -> (ids of its members, ids of its held-out examples)."""
        clients = self.read_json("data/split.json")["clients"]
        return {name: (tuple(ids["members"]), tuple(ids["held_out"])) for name, ids in clients.items()}

    def read_json(self, name: str) -> dict[str, Any]:
        """A file that the run, its audit or its end wrote; RunFolderError when it is missing or not whole."""
        return read_object(self.path, name)

    def write_json(self, name: str, value: Any) -> None:
        write_atomic(self.path / name, json.dumps(value, indent=2, allow_nan=False) + "\n")


def _harmless(entry: Path) -> bool:
    """What a process killed before it wrote the recipe may leave."""
    return entry.name == ".lock" or entry.name.endswith(PART)
