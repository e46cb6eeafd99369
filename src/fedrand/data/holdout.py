"""Members and held-out examples of one client from one distribution: what makes a membership test honest."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedrand.data.example import DataError, Example


class HoldOut(NamedTuple):
    """`members` are trained on; `held_out` never are. Both in the order they came in."""

    members: tuple[Example, ...]
    held_out: tuple[Example, ...]


def hold_out(examples: Sequence[Example], rng: np.random.Generator) -> HoldOut:
    """A fair coin per group; all are thrown anew while a side is empty. DataError with fewer than two groups.

    Independent coins, not an alternation: halves that balance each other's topics can be told apart by text.
    """
    groups = sorted({example.unit for example in examples})
    if len(groups) < 2:
        raise DataError(
            f"{len(groups)} group of examples cannot be split into members and held-out ones; "
            "give every client at least two groups or switch the hold-out off"
        )
    heads = rng.random(len(groups)) < 0.5
    while heads.all() or not heads.any():
        heads = rng.random(len(groups)) < 0.5
    inside = {group for group, head in zip(groups, heads, strict=True) if head}
    return HoldOut(
        members=tuple(e for e in examples if e.unit in inside),
        held_out=tuple(e for e in examples if e.unit not in inside),
    )
