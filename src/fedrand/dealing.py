"""What each client holds: the pool dealt out by a rule, and a coin per group for what is never trained on."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from fedrand.data.example import DataError, Example
from fedrand.data.holdout import hold_out
from fedrand.data.partition import Partition, by_client, by_label, dirichlet, iid
from fedrand.randomness import stream
from fedrand.settings import DataTable

Examples = tuple[Example, ...]
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")  # a client's name becomes a folder's


class ClientData(NamedTuple):
    """members: trained on. held_out: the same client's, never trained on."""

    members: Examples
    held_out: Examples


def deal(pool: Examples, table: DataTable, seed: int) -> dict[str, ClientData]:
    """client -> its data. DataError when the rule cannot be met, naming what would work."""
    parts = PARTITIONS[table.partition](pool, table, stream(seed, "partition"))
    names = _own_names(pool, parts) if table.partition == "client" else _numbered(len(parts))
    dealt = {name: tuple(pool[index] for index in part) for name, part in zip(names, parts, strict=True)}
    settled = _settled(dealt, seed)
    return {name: _halved(name, examples, table.holdout, seed, settled) for name, examples in dealt.items()}


def _settled(dealt: Mapping[str, Examples], seed: int) -> dict[str, bool]:
    """One coin for a group that several clients hold: trained on by one it is no other's held-out example."""
    owners = Counter(group for examples in dealt.values() for group in {example.unit for example in examples})
    return {
        group: bool(stream(seed, "holdout", "shared", group).random() < 0.5) for group, n in owners.items() if n > 1
    }


def _dirichlet(pool: Examples, table: DataTable, rng: np.random.Generator) -> Partition:
    labels, groups = [e.label for e in pool], [e.unit for e in pool]
    return dirichlet(labels, table.clients, table.alpha, rng, groups=groups, min_size=table.min_size)


def _by_label(pool: Examples, table: DataTable, rng: np.random.Generator) -> Partition:
    labels, groups = [e.label for e in pool], [e.unit for e in pool]
    return by_label(labels, table.clients, rng, groups=groups, min_size=table.min_size)


PARTITIONS: Mapping[str, Callable[[Examples, DataTable, np.random.Generator], Partition]] = {
    "dirichlet": _dirichlet,
    "iid": lambda pool, table, rng: iid([e.unit for e in pool], table.clients, rng),
    "label": _by_label,
    "client": lambda pool, table, rng: by_client([e.client for e in pool]),
}


def _numbered(count: int) -> list[str]:
    return [f"c{number:0{max(2, len(str(count - 1)))}d}" for number in range(count)]


def _own_names(pool: Examples, parts: Partition) -> list[str]:
    names = [pool[int(part[0])].client for part in parts]
    if bad := [name for name in names if not NAME.fullmatch(name)]:
        raise DataError(f"client name '{bad[0]}' cannot name a folder; use letters, digits, _ . - (64 at most)")
    return names


def _halved(name: str, examples: Examples, holdout: bool, seed: int, settled: Mapping[str, bool]) -> ClientData:
    if not holdout:
        return ClientData(examples, ())
    try:
        return ClientData(*hold_out(examples, stream(seed, "holdout", name), settled))
    except DataError as error:
        raise DataError(f"client '{name}': {error}") from error


def pooled(clients: Mapping[str, ClientData]) -> dict[str, ClientData]:
    """One client with everyone's members and everyone's held-out examples."""
    parts = zip(*clients.values(), strict=True)
    return {"all": ClientData(*(tuple(example for some in part for example in some) for part in parts))}
