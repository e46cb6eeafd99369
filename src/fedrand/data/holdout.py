"""Members and held-out examples of one client from one distribution: what makes a membership test honest."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fedrand.data.example import DataError, Example


class HoldOut(NamedTuple):
    """`members` are trained on; `held_out` never are. Both in the order they came in."""

    members: tuple[Example, ...]
    held_out: tuple[Example, ...]


def hold_out(
    examples: Sequence[Example], rng: np.random.Generator, settled: Mapping[str, bool] | None = None
) -> HoldOut:
    """A fair coin per group; all are thrown anew while a side is empty. DataError with fewer than two groups.

    settled: of groups whose coin has fallen already, because other clients have them too, whether they are trained on.

    Independent coins, not an alternation: halves that balance each other's topics can be told apart by text.
    """
    groups = sorted({example.unit for example in examples})
    if len(groups) < 2:
        raise DataError(
            f"{len(groups)} group of examples cannot be split into members and held-out ones; "
            "give every client at least two groups or switch the hold-out off"
        )
    known = {group: side for group, side in (settled or {}).items() if group in groups}
    free = [group for group in groups if group not in known]
    inside = _thrown(free, known, rng)
    while not 0 < len(inside) < len(groups):
        if not free:
            raise DataError(
                f"all {len(groups)} groups are shared with other clients and lie on one side; add data of its own"
            )
        inside = _thrown(free, known, rng)
    return HoldOut(
        members=tuple(e for e in examples if e.unit in inside),
        held_out=tuple(e for e in examples if e.unit not in inside),
    )


def _thrown(free: Sequence[str], known: Mapping[str, bool], rng: np.random.Generator) -> set[str]:
    heads = rng.random(len(free)) < 0.5
    return {group for group, head in zip(free, heads, strict=True) if head} | {g for g, side in known.items() if side}
