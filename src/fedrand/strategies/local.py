"""Each client for itself: the floor that every federated method is to beat. Nothing is shared."""

from dataclasses import dataclass

import numpy as np

from fedrand.params import Keys
from fedrand.strategy import Split, Strategy, Turn


@dataclass(frozen=True)
class Nothing:
    def split(self, keys: Keys, turn: Turn, rng: np.random.Generator) -> Split:
        return Split(shared=frozenset(), private=keys, from_server=keys if turn.first else frozenset())

    def fault(self, keys: Keys, sent: Keys, round: int) -> str | None:
        return f"{len(sent)} tensors sent, first {min(sent)}; every one stays with its client" if sent else None


def local() -> Strategy:
    """Clients take the server's first adapter once and go on alone; the server's stays as it was."""
    return Strategy("local", Nothing(), download="drawn")
