"""What a strategy will do with an adapter, told before a run: which tensors train, travel and stay, in bytes."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fedrand.ledger import part
from fedrand.params import Key, Keys
from fedrand.randomness import stream
from fedrand.strategy import Strategy, Turn

Shapes = Mapping[Key, tuple[int, ...]]
DRAWS = 400
LATER, BEGINNING = Turn(2, first=False, last=1), Turn(0, first=True)


class Amount(NamedTuple):
    """tensors, numbers in them, and their bytes in float32, averaged over draws."""

    tensors: float
    parameters: float
    bytes: float

    def __str__(self) -> str:
        return f"{self.tensors:,.0f} tensors, {self.parameters:,.0f} parameters, {self.bytes:,.0f} bytes"


class Line(NamedTuple):
    """One thing that clients do in a round, and the share of draws in which they do it."""

    what: str
    part: str
    share: float
    amount: Amount

    def __str__(self) -> str:
        often = "" if self.share == 1 else f", in about {self.share:.0%} of the rounds that a client takes part in"
        return f"{self.what:<7} {self.part:<6} {self.amount}{often}"


def amount(keys: Keys, shapes: Shapes) -> Amount:
    parameters = sum(int(np.prod(shapes[key])) for key in keys)
    return Amount(len(keys), parameters, 4 * parameters)


def plan(strategy: Strategy, shapes: Shapes, seed: int = 0, turn: Turn = LATER) -> list[Line]:
    """The lines of one strategy, from draws of its own sharing; `turn`: by default of a client that has trained before."""
    keys = frozenset(shapes)
    rng = stream(seed, "plan")
    splits = [strategy.sharing.split(keys, replace(turn, place=n, of=DRAWS), rng) for n in range(DRAWS)]
    return [line for what, chosen in _CHOICES.items() for line in _lines(what, [chosen(s) for s in splits], shapes)]


_CHOICES = {
    "trains": lambda split: split.trained,
    "travels": lambda split: split.shared,
    "stays": lambda split: split.private | split.frozen,
}


def _lines(what: str, chosen: list[Keys], shapes: Shapes) -> list[Line]:
    known = frozenset(shapes)
    drawn: dict[str, list[Amount]] = defaultdict(list)
    for keys in chosen:
        if keys:
            drawn[part(keys, known)].append(amount(keys, shapes))
    if not drawn:
        return [Line(what, "none", 1.0, Amount(0, 0, 0))]
    return [
        Line(what, name, len(some) / len(chosen), Amount(*np.mean(some, axis=0).tolist()))
        for name, some in sorted(drawn.items())
    ]


def describe(strategy: Strategy, shapes: Shapes) -> str:
    """The plan as text, a line per part."""
    downloads = "all that the server holds" if strategy.download == "both" else "only what the client will use"
    head = f"{strategy.name}: adapter of {amount(frozenset(shapes), shapes)}; a client downloads {downloads}"
    later, begun = plan(strategy, shapes), plan(strategy, shapes, turn=BEGINNING)
    return "\n  ".join([head, *map(str, later), *(f"{line} in round 0" for line in begun if line not in later)])
