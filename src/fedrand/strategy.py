"""A strategy says which tensors travel: four independent answers, no subclass per method."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from fedrand.aggregation import Aggregation, Average
from fedrand.messages import ServerState, Upload
from fedrand.params import FACTORS, Keys
from fedrand.release import AsTrained, Release


@dataclass(frozen=True)
class Turn:
    """One client's place in the run: the round, whether it has never trained before, and else in which round it did
    so last, where that is known. place, of: the client was the place-th (from 0) of so many that the server drew."""

    round: int
    first: bool
    last: int | None = None
    place: int = 0
    of: int = 1


@dataclass(frozen=True)
class Split:
    """One client's keys in one round; `shared`, `private` and `frozen` part all of them.

    A shared key starts at the server's value. A private or frozen key starts at the client's own last value,
    unless it is in `from_server` (the server's value) or in `fresh` (a new initial value of the client's own);
    `fresh` holds for shared keys too.
    """

    shared: Keys
    private: Keys = frozenset()
    frozen: Keys = frozenset()
    from_server: Keys = frozenset()
    fresh: Keys = frozenset()

    @property
    def trained(self) -> Keys:
        return self.shared | self.private

    @property
    def needed(self) -> Keys:
        """The keys whose server value this client will use."""
        return (self.shared | self.from_server) - self.fresh


class Sharing(Protocol):
    """Which keys a client shares in a round, and which sets of keys a server may be sent."""

    def split(self, keys: Keys, turn: Turn, rng: np.random.Generator) -> Split: ...

    def fault(self, keys: Keys, sent: Keys, round: int) -> str | None:
        """Why `sent` is no set of keys that a client can send in this round; None when it is one. keys: the server's."""
        ...


Odds = list[tuple[float, Split]]
"""Splits with their chances."""


@runtime_checkable
class Drawn(Sharing, Protocol):
    """A sharing whose split hangs on its rng, and which says how often it comes out how."""

    def odds(self, keys: Keys, turn: Turn) -> Odds:
        """The splits that a turn may end in, over all draws and all places among the `turn.of`; each key's chance to
        be shared, private or fetched is exact."""
        ...


def odds(sharing: Sharing, keys: Keys, turn: Turn) -> Odds:
    """What a turn ends in how often, the client being as likely in one place as in another: exact, nothing is drawn."""
    if isinstance(sharing, Drawn):
        return sharing.odds(keys, turn)
    unused = np.random.default_rng(0)
    found = Counter(sharing.split(keys, replace(turn, place=place), unused) for place in range(turn.of))
    return [(count / turn.of, split) for split, count in found.items()]


@dataclass(frozen=True)
class Strategy:
    """sharing: which keys travel; aggregation: how uploads become the next server state; release: what an upload
    passes before it leaves the client; download: "both" halves, or only the ones "drawn"; proximal: FedProx's mu;
    adapter: the kind it is made for ("" for any); home: factors that the server never holds, not even at the start;
    pooled: one client holds everyone's data."""

    name: str
    sharing: Sharing
    aggregation: Aggregation = field(default_factory=Average)
    release: Release = field(default_factory=AsTrained)
    download: str = "both"
    proximal: float = 0.0
    adapter: str = ""
    home: frozenset[str] = frozenset()
    pooled: bool = False

    def held(self, keys: Keys) -> Keys:
        """Of a whole adapter's keys, those that the server holds."""
        return frozenset(key for key in keys if key.factor not in self.home)

    def check(self, keys: Keys) -> None:
        """ValueError when this method cannot run on an adapter of these tensors."""
        needed, found = set(FACTORS.get(self.adapter, ())), {key.factor for key in keys}
        if needed and needed != found:
            raise ValueError(f"{self.name} needs the factors {_listed(needed)}; the adapter has {_listed(found)}")
        self.sharing.split(keys, Turn(1, first=False), np.random.default_rng(0))

    def step(self, server: ServerState, uploads: Sequence[Upload]) -> ServerState:
        return self.aggregation.step(server, uploads)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
