"""What a strategy will do with an adapter, told before a run: which tensors train, travel and stay, in bytes."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fedrand.ledger import part
from fedrand.params import Key, Keys
from fedrand.strategy import Strategy, Turn, odds

Shapes = Mapping[Key, tuple[int, ...]]
LATER, BEGINNING = Turn(2, first=False, last=1), Turn(0, first=True)


class Amount(NamedTuple):
    """tensors, numbers in them, and their bytes in float32; the mean where turns differ."""

    tensors: float
    parameters: float
    bytes: float

    def __str__(self) -> str:
        return f"{self.tensors:,.0f} tensors, {self.parameters:,.0f} parameters, {self.bytes:,.0f} bytes"


class Line(NamedTuple):
    """One thing that clients do in a round, and the share of their turns in which they do it."""

    what: str
    part: str
    share: float
    amount: Amount

    def __str__(self) -> str:
        often = "" if self.share == 1 else f", in {self.share:.0%} of the rounds that a client takes part in"
        return f"{self.what:<7} {self.part:<6} {self.amount}{often}"


def amount(keys: Keys, shapes: Shapes) -> Amount:
    parameters = sum(int(np.prod(shapes[key])) for key in keys)
    return Amount(len(keys), parameters, 4 * parameters)


def plan(strategy: Strategy, shapes: Shapes, asked: int = 1, turn: Turn = LATER) -> list[Line]:
    """The lines of one strategy, exact. asked: how many clients train in a round, which a stratified draw goes by;
    turn: by default of a client that has trained before."""
    found = odds(strategy.sharing, frozenset(shapes), replace(turn, of=asked))
    return [
        line
        for what, chosen in _CHOICES.items()
        for line in _lines(what, [(chance, chosen(split)) for chance, split in found], shapes)
    ]


_CHOICES = {
    "trains": lambda split: split.trained,
    "travels": lambda split: split.shared,
    "stays": lambda split: split.private | split.frozen,
}


def _lines(what: str, chosen: list[tuple[float, Keys]], shapes: Shapes) -> list[Line]:
    known = frozenset(shapes)
    parts: dict[str, list[tuple[float, Amount]]] = defaultdict(list)
    for chance, keys in chosen:
        if keys:
            parts[part(keys, known)].append((chance, amount(keys, shapes)))
    if not parts:
        return [Line(what, "none", 1.0, Amount(0, 0, 0))]
    return [_line(what, name, *zip(*some, strict=True)) for name, some in sorted(parts.items())]


def _line(what: str, name: str, chances: tuple[float, ...], amounts: tuple[Amount, ...]) -> Line:
    return Line(what, name, sum(chances), Amount(*np.average(amounts, 0, chances).tolist()))


def describe(strategy: Strategy, shapes: Shapes, asked: int = 1) -> str:
    """The plan as text, a line per part."""
    downloads = "all that the server holds" if strategy.download == "both" else "only what the client will use"
    alone = "; each layer draws for itself" if getattr(strategy.sharing, "draw", "") == "layer" else ""
    head = f"{strategy.name}: adapter of {amount(frozenset(shapes), shapes)}; a client downloads {downloads}{alone}"
    later, begun = plan(strategy, shapes, asked), plan(strategy, shapes, asked, BEGINNING)
    return "\n  ".join([head, *map(str, later), *(f"{line} in round 0" for line in begun if line not in later)])
