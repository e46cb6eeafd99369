"""The transcript of a run: what the server sent and got, and apart from it what only the clients knew.

A folder rNNNN per round with `broadcast.safetensors`, `upload.CLIENT.safetensors`, `refused.CLIENT.safetensors` (it
reached the server, which did not take it), `repeated.CLIENT.safetensors` (it did too, before the round was repeated and
the client, from where it had begun, sent other tensors) and, in simulation only, `oracle/CLIENT.safetensors` (the client's whole
adapter after training); `index.jsonl` names every file with its sha256.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from fedrand.errors import InputError
from fedrand.federation import Round
from fedrand.ledger import part
from fedrand.lines import Lines, json_round
from fedrand.params import Params
from fedrand.runfile import LOST
from fedrand.runfolder import RunFolder
from fedrand.tensorfile import from_bytes, to_bytes, write_atomic

INDEX = "index.jsonl"
SENT = ("upload", "refused", "repeated")
"""Kinds of what a client sent."""


class TranscriptError(InputError):
    """A transcript that is missing, cut short or altered; names the file."""


@dataclass(frozen=True)
class Entry:
    """One file. kind: "broadcast", "upload", "refused", "repeated" or "oracle"; keys: "A", "B", "all" or "mixed"."""

    round: int
    kind: str
    client: str
    num_examples: int
    keys: str
    file: str
    sha256: str


@dataclass(frozen=True)
class TranscriptWriter:
    """Writes rounds down: first the files, then their lines of the index."""

    folder: Path

    def record(self, round: Round) -> None:
        """The broadcast, every upload that reached the server, and the oracle's files of one round."""
        number, server = round.before.round, round.before
        entries = [self._write(number, "broadcast", "", 0, server.params, server.params)]
        taken = {upload.client for upload in round.admitted}
        again = {outcome.upload.client for outcome in round.outcomes}
        for outcome in (*round.outcomes, *(one for one in round.dropped if one.upload.client not in again)):
            upload = outcome.upload
            sent = "upload" if upload.client in taken else "refused"
            count = upload.num_examples if sent == "upload" else 0  # a refused count may be anything
            for kind, params in ((sent, upload.params), ("oracle", outcome.state.local)):
                entries.append(self._write(number, kind, upload.client, count, params, server.params))
        for upload in (one.upload for one in round.dropped if one.upload.client in again):
            entries.append(self._write(number, "repeated", upload.client, 0, upload.params, server.params))
        self._index.append(json.dumps(asdict(entry)) for entry in entries)

    def truncate(self, round: int) -> None:
        """Drop the lines and files of `round` and later ones, and a torn last line."""
        self._index.cut(round)
        for folder in self.folder.glob("r[0-9]*"):
            if int(folder.name[1:]) >= round:
                _remove(folder)

    @property
    def _index(self) -> Lines:
        self.folder.mkdir(parents=True, exist_ok=True)
        return Lines(self.folder / INDEX, json_round)

    def _write(self, round: int, kind: str, client: str, count: int, params: Params, known: Params) -> Entry:
        file = _NAMES[kind].format(round=round, client=client)
        header = {"round": round} | ({"client": client, "num_examples": count} if client else {})
        data = to_bytes(params, header)
        write_atomic(self.folder / file, data, private=kind == "oracle")
        keys = part(frozenset(params), frozenset(known))
        return Entry(round, kind, client, count, keys, file, hashlib.sha256(data).hexdigest())


_NAMES = {
    "broadcast": "r{round:04d}/broadcast.safetensors",
    "upload": "r{round:04d}/upload.{client}.safetensors",
    "refused": "r{round:04d}/refused.{client}.safetensors",
    "repeated": "r{round:04d}/repeated.{client}.safetensors",
    "oracle": "r{round:04d}/oracle/{client}.safetensors",
}


def _entry(line: str, where: str) -> Entry:
    """A line of the index; a line that points elsewhere than to its own file could reach past its reader's kinds."""
    try:
        entry = Entry(**json.loads(line))
        place = _NAMES[entry.kind].format(round=entry.round, client=entry.client)
    except (ValueError, TypeError, KeyError) as error:
        raise TranscriptError(f"{where} is no entry ({type(error).__name__}); the transcript is not whole") from error
    if entry.file != place:
        raise TranscriptError(f"{where} was altered: it names {entry.file}, its file is {place}")
    return entry


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


@dataclass(frozen=True)
class Index:
    """Reads entries of some kinds only, and of some clients where they are named: what is of another kind or another
    client's cannot be reached through it."""

    folder: Path
    kinds: tuple[str, ...]
    clients: tuple[str, ...] | None = None

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        path = self.folder / INDEX
        lines = Lines(path, json_round).read()
        if not lines:
            raise TranscriptError(f"no transcript in {self.folder}; a run writes it: fedrand run RECIPE --out RUN")
        every = (_entry(line, f"{path} line {number}") for number, line in enumerate(lines, 1))
        return tuple(entry for entry in every if entry.kind in self.kinds and self._about(entry.client))

    def _about(self, client: str) -> bool:
        return not client or self.clients is None or client in self.clients

    def read(self, entry: Entry) -> Params:
        """The tensors of one file, its bytes checked against the index."""
        if entry not in self.entries:
            whose = f" of {', '.join(self.clients)}" if self.clients is not None else ""
            raise PermissionError(f"{entry.file} is no {' or '.join(self.kinds)}{whose}; this reader may not open it")
        path = self._place(entry)
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise TranscriptError(f"{path} was altered or cut: its sha256 is not the one in {INDEX}")
        return from_bytes(data, str(path))[0]

    def size(self, entry: Entry) -> int:
        """Bytes of one file."""
        return self._place(entry).stat().st_size

    def _place(self, entry: Entry) -> Path:
        path = self.folder / entry.file
        if not path.is_file():
            raise TranscriptError(f"{path} is missing; the transcript is not whole, so {LOST}")
        return path

    def of(self, kind: str, client: str = "") -> Iterator[Entry]:
        """The entries of one kind (and client), oldest first."""
        found = (entry for entry in self.entries if entry.kind == kind and entry.client == client)
        return iter(sorted(found, key=lambda entry: entry.round))


def transcript(folder: Path) -> Index:
    """What the server sent and got."""
    return Index(folder, ("broadcast", *SENT))


def oracle(folder: Path) -> Index:
    """What only the clients knew: for calibration, and only in simulation."""
    return Index(folder, ("oracle",))


def received(index: Index) -> Counter[str]:
    """How many uploads of each client reached the server: refused ones, and those of a round that was repeated, too."""
    return Counter(entry.client for entry in index.entries if entry.kind in SENT)


def refuse_lost_uploads(folder: RunFolder) -> None:
    """A ledger or an index with fewer lines than there were messages would make part of a run look like a whole one: to
    an audit, to the bytes and to epsilon. RunFolderError or TranscriptError, which says how many there are."""
    folder.check_ledger()
    rounds = folder.server().round
    if not rounds:
        return
    entries = [entry for entry in transcript(folder.transcript).entries if entry.round < rounds]
    broadcasts = sum(entry.kind == "broadcast" for entry in entries)
    uploads = {(entry.round, entry.client, entry.keys) for entry in entries if entry.kind != "broadcast"}
    rows = (row for row in folder.ledger() if row.direction == "upload" and row.round < rounds)
    sent = {(row.round, row.client, row.part) for row in rows}  # one may be sent twice
    if broadcasts != rounds or sent - uploads:
        raise TranscriptError(
            f"{folder.transcript}/index.jsonl has {broadcasts} broadcasts and {len(uploads)} uploads, the run had "
            f"{rounds} and {len(sent)}; the transcript is not whole, so {LOST}"
        )
