"""A run folder's files as plain data; what cannot be read is one line with the command that helps."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrand.errors import InputError, suggested
from fedrand.runfile import AUDIT_VERSION, LOST, json_object, read_object

Json = dict[str, Any]


class ReportError(InputError):
    """A file of the run folder that is missing or not whole."""


@dataclass(frozen=True)
class Sent:
    """One client in one round: the part it sent (see `ledger.part`), n_k, its mean training loss in nats."""

    part: str
    num_examples: int | None
    loss: float | None


@dataclass(frozen=True)
class Round:
    """A line of metrics.jsonl: who was admitted with what, who was refused and why.

    loss: n_k-weighted mean over the admitted clients, nats per answer token. unsent: the part that nobody sent and that
    so kept its value.
    """

    index: int
    clients: Mapping[str, Sent]
    refused: Mapping[str, str]
    loss: float | None = None
    unsent: str = "none"

    @property
    def alone(self) -> tuple[str, ...]:
        """The parts that exactly one client sent: their "average" is that client's own tensors."""
        parts = [sent.part for sent in self.clients.values() if sent.part != "none"]
        if len(parts) == 1:
            return (parts[0],)
        if "mixed" in parts:
            return ()
        return tuple(half for half in sorted(set(parts)) if parts.count(half) + parts.count("all") == 1)


def read_results(run: Path) -> Json:
    """results.json of the folder `run`."""
    return _file(run, "results.json")


def read_audit(run: Path) -> Json | None:
    """audit.json, or None when the run was not audited; one of an earlier version lacks parts, a later one is refused."""
    if not (run / "audit.json").exists():
        return None
    found = _file(run, "audit.json")
    if (version := found.get("version", 1)) not in range(1, AUDIT_VERSION + 1):
        raise ReportError(
            f"{run / 'audit.json'} is of version {version}, this fedrand reads 1 to {AUDIT_VERSION}; "
            f"make it again with: {suggested('audit', run)}"
        )
    return found


def read_environment(run: Path) -> Json:
    """environment.json, empty when there is none."""
    return _file(run, "environment.json") if (run / "environment.json").exists() else {}


@contextmanager
def audit_read(run: Path) -> Iterator[None]:
    """Around what reads inside audit.json: ReportError where an entry has another shape than an audit writes."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ReportError(
            f"{run / 'audit.json'} has not an audit's shape ({what}); make it again with: {suggested('audit', run)}"
        ) from error


def _file(run: Path, name: str) -> Json:
    _there(run)
    return read_object(run, name)


def read_recipe(run: Path) -> tuple[str, Json]:
    """(text, tables) of recipe.toml; empty when there is none."""
    path = run / "recipe.toml"
    if not path.exists():
        return "", {}
    text = _text(run, path.name, LOST)
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ReportError(f"{path} is not TOML ({error}); `fedrand run` writes it when a run begins") from error


def read_rounds(run: Path) -> tuple[Round, ...]:
    """The lines of metrics.jsonl in their order; ReportError when there is none."""
    path = run / "metrics.jsonl"
    lines = {number: line for number, line in enumerate(_text(run, path.name, LOST).splitlines(), 1) if line.strip()}
    if not lines:
        raise ReportError(f"{path} holds no round; {LOST}")
    return tuple(_round(line, f"{path} line {number}") for number, line in lines.items())


def _round(line: str, where: str) -> Round:
    row = json_object(line, where, {}, LOST, ReportError)
    try:
        clients = {
            str(name): Sent(str(sent["sent"]), sent.get("num_examples"), sent.get("loss_mean"))
            for name, sent in row["clients"].items()
        }
        refused = {str(entry["client"]): str(entry["reason"]) for entry in row.get("refused", ())}
        unsent = str((row.get("nobody_sent") or {}).get("part", "none"))
        return Round(int(row["round"]), clients, refused, row.get("loss_mean"), unsent)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ReportError(f"{where} is no round ({error!r}); it needs round and clients with what each sent") from error


def _there(run: Path) -> None:
    if not run.is_dir():
        raise ReportError(f"no run folder {run}; `fedrand run RECIPE --out {run}` makes one")


def _text(run: Path, name: str, remedy: str) -> str:
    _there(run)
    try:
        return (run / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ReportError(f"{run} has no {name}; {remedy}") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"{run / name} is not text ({error.reason}); {remedy}") from error
