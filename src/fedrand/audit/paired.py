"""Scores by item that an audit keeps, and the difference of two audits on the same items: no item's text, only which
items they were (a digest of their ids) and which of them belong together.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedrand.audit.statistics import Difference, Sample, paired_delong, two_level_difference

if TYPE_CHECKING:
    from fedrand.audit.rows import Row, Sides
    from fedrand.data.example import Example

Key = tuple[str, str, str, str]
"""threat, model, attack, slice"""
ALSO = ("LiRA", "FedMIA cosine")
"""Attacks that are kept beside the headlines: they go by what a method hides, an exact client model and equal halves."""


def kept(rows: Iterable["Row"], sides: Mapping[str, "Sides"]) -> dict[str, Any]:
    """The part "scores" of audit.json: the items of each client, and the rows that are kept, in the items' order."""
    chosen = [row for row in rows if row.applies and row.threat != "Tinf" and (row.headline or row.attack in ALSO)]
    return {
        "clients": {
            name: {"members": _items(own.members), "others": _items(own.others)} for name, own in sides.items()
        },
        "rows": [
            {
                "threat": row.threat,
                "model": row.model,
                "attack": row.attack,
                "slice": row.slice,
                "clients": _scores(row),
            }
            for row in chosen
        ],
    }


def _items(examples: Sequence["Example"]) -> dict[str, Any]:
    """groups: of each item, numbered; items of one number are variants of one thing."""
    numbers: dict[str, int] = {}
    groups = [numbers.setdefault(example.unit, len(numbers)) for example in examples]
    ids = json.dumps([[example.id, example.unit] for example in examples])
    return {"sha256": hashlib.sha256(ids.encode()).hexdigest(), "groups": groups}


def _scores(row: "Row") -> dict[str, dict[str, list[float]]]:
    return {name: {"members": s.members.tolist(), "others": s.others.tolist()} for name, s in row.samples.items()}


@dataclass(frozen=True)
class Kept:
    """An audit's scores. data: the fingerprint of its data; items: of each client, what tells the items of both sides."""

    data: str
    items: Mapping[str, str]
    rows: Mapping[Key, Mapping[str, Sample]]
    level: float


def scores(audit: Mapping[str, Any]) -> Kept | None:
    """What `kept` wrote, or None where an audit has no such part. KeyError, TypeError or ValueError when it has another
    form."""
    if (part := audit.get("scores")) is None:
        return None
    clients = part["clients"]
    items = {name: f"{own['members']['sha256']} {own['others']['sha256']}" for name, own in clients.items()}
    rows = {
        (str(row["threat"]), str(row["model"]), str(row["attack"]), str(row["slice"])): {
            name: _sample(own, clients[name]) for name, own in row["clients"].items()
        }
        for row in part["rows"]
    }
    first = audit["protocols"]["P1"]["rows"]
    level = float(next((row["level"] for row in first if row.get("applies")), 0.95))
    return Kept(audit["provenance"]["data"]["fingerprint"], items, rows, level)


def _sample(own: Mapping[str, Any], items: Mapping[str, Any]) -> Sample:
    sides = [
        (np.array(own[side], float), [f"{side} {n}" for n in items[side]["groups"]]) for side in ("members", "others")
    ]
    return Sample(*sides[0], *sides[1])


class Paired(NamedTuple):
    """One attack's AUROC in one audit minus that in another. drawn: over clients and items like these; given: of these
    very models, only the items vary (DeLong)."""

    drawn: Difference
    given: Difference

    @property
    def resolved(self) -> bool:
        """Whether the interval over clients and items leaves 0 out."""
        return not self.drawn.low <= 0 <= self.drawn.high


def unlike(first: Kept, other: Kept) -> str:
    """Why the two audits did not look at the same items; empty where they did."""
    if first.data != other.data:
        return "other data"
    if first.items.keys() != other.items.keys():
        return f"other clients ({', '.join(sorted(first.items.keys() ^ other.items.keys()))} in one alone)"
    changed = sorted(name for name in first.items if first.items[name] != other.items[name])
    return f"other items of {', '.join(changed)}" if changed else ""


def paired(first: Kept, other: Kept, key: Key) -> Paired | str:
    """`other` minus `first` by one attack on the same items, or why there is none; the audits must not be `unlike`."""
    ours, theirs = first.rows.get(key), other.rows.get(key)
    if not ours or not theirs:
        return "one of the two has no such figure"
    if ours.keys() != theirs.keys():
        return f"it has figures for other clients ({', '.join(sorted(ours.keys() ^ theirs.keys()))} in one alone)"
    sides = [theirs[name] for name in ours], [*ours.values()]
    return Paired(two_level_difference(*sides, first.level), paired_delong(*sides, first.level))
