"""What the server knows of where a client began each of its rounds, tensor by tensor: exact, stale or unknown.

The sent half began at the server's own copy. The other half began where the client left it, and that is exactly known
whenever the client had sent it the time before: with probability 2 rho (1 - rho) when each half is a draw of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedrand.audit.views import View
from fedrand.ledger import part
from fedrand.params import Key, Keys, Params
from fedrand.randomness import stream
from fedrand.release import AsTrained
from fedrand.strategy import Sharing, Split, Strategy, Turn

ZERO = "B"  # LoRA's factor that begins at zero, whoever initialises it
PLACES = 20  # a stratified draw goes by the client's place among those asked
DRAWS = 400  # of a method's own sharing, to find what it does with each tensor that was or was not sent

State = Literal["exact", "stale", "unknown"]


class Known(NamedTuple):
    """The best known value of a tensor. age: how many local trainings of the client it has not seen, so 0 is exact;
    None when the true value was never seen, and the server's own stands in."""

    value: NDArray[np.floating]
    age: int | None

    @property
    def state(self) -> State:
        return "unknown" if self.age is None else "stale" if self.age else "exact"

    def trained(self) -> "Known":
        return Known(self.value, None if self.age is None else self.age + 1)


class Told(NamedTuple):
    """What stays of a `Seen` without its tensors. fully_known: whether every start was; line: its line of audit.json."""

    client: str
    round: int
    switched: bool
    fully_known: bool
    line: dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """One upload as the server sees it. start: what it knows of the client's adapter before training; end: what was
    sent; switched: whether the client had sent other tensors the time before."""

    client: str
    round: int
    start: Mapping[Key, Known]
    end: Params
    switched: bool

    @property
    def sent(self) -> Keys:
        return frozenset(self.end)

    @property
    def change(self) -> dict[Key, NDArray[np.floating]]:
        """start - end of what was sent, so along +gradient."""
        return {key: self.start[key].value - value for key, value in self.end.items()}

    @property
    def exact(self) -> Keys:
        """The tensors whose start is known to the bit."""
        return frozenset(key for key, known in self.start.items() if known.state == "exact")

    @property
    def fully_known(self) -> bool:
        return len(self.exact) == len(self.start)

    def told(self) -> Told:
        return Told(self.client, self.round, self.switched, self.fully_known, self.row())

    def row(self) -> dict[str, Any]:
        """The line of audit.json: the part that was sent, and the least known tensor of the rest."""
        rest = [self.start[key].age for key in self.start.keys() - self.sent]
        line = {"round": self.round, "sent": part(self.sent, frozenset(self.start))}
        if not rest:
            return {**line, "rest": "none", "age": None}
        if None in rest:
            return {**line, "rest": "unknown", "age": None}
        age = max(age for age in rest if age is not None)
        return {**line, "rest": "stale" if age else "exact", "age": age}


def history(view: View, client: str, strategy: Strategy) -> Iterator[Seen]:
    """The client's admitted uploads with what the server knows of each one's start, oldest first.

    A refused upload still tells that the client trained; its tensors are not believed. An upload that was altered on
    its way out (clipped, noised) is no exact copy of what the client kept.
    """
    taken = {entry.round for entry in view.uploads(client)}
    kept: dict[Key, Known] = {}
    before: Keys | None = None
    earlier: int | None = None
    for entry in view.turns(client):
        server, sent = view.broadcast(entry.round), view.read(entry)
        turn = Turn(entry.round, first=before is None, last=earlier)
        begun = roles(strategy.sharing, frozenset(server), frozenset(sent), turn)
        start = {key: _start(key, begun.get(key), server[key], kept.get(key)) for key in server}
        believed = sent if entry.round in taken else {}
        kept = {key: _end(known, begun.get(key), believed.get(key), strategy) for key, known in start.items()}
        if entry.round in taken:
            yield Seen(client, entry.round, start, believed, switched=before not in (None, frozenset(sent)))
        before, earlier = frozenset(sent), entry.round


def ledger(histories: Mapping[str, Sequence[Told]]) -> dict[str, Any]:
    """The part "knowledge" of audit.json: every client's uploads, and how many of all began where the server knew."""
    every = [seen for own in histories.values() for seen in own]
    return {
        "uploads": len(every),
        "start_known": sum(seen.fully_known for seen in every),
        "clients": {name: [seen.line for seen in own] for name, own in histories.items()},
    }


class Role(NamedTuple):
    """What a method does with one tensor of one client in one round."""

    from_server: bool
    fresh: bool
    trained: bool


def roles(sharing: Sharing, keys: Keys, sent: Keys, turn: Turn) -> dict[Key, Role]:
    """Each tensor's role, given which were sent. The method is public, its draw is not: draws of our own, at every place
    in the server's order, are searched for one in which the tensor was, or was not, shared as seen. A tensor for which
    there is none has no role."""
    found: dict[Key, Role] = {}
    for number in range(DRAWS):
        turn = replace(turn, place=number % PLACES, of=PLACES)
        split = sharing.split(keys, turn, stream(0, "method", number))
        found |= {key: _role(key, split) for key in keys - found.keys() if (key in split.shared) == (key in sent)}
        if len(found) == len(keys):
            break
    return found


def _role(key: Key, split: Split) -> Role:
    return Role(key in split.shared | split.from_server, key in split.fresh, key in split.trained)


def _start(key: Key, role: Role | None, server: NDArray[np.floating], kept: Known | None) -> Known:
    if role is None:
        return Known(server, None)
    if role.fresh:
        return Known(np.zeros_like(server), 0) if key.factor == ZERO else Known(server, None)
    return Known(server, 0) if role.from_server else kept or Known(server, None)


def _end(start: Known, role: Role | None, sent: NDArray[np.floating] | None, strategy: Strategy) -> Known:
    if sent is not None:
        return Known(sent, 0 if isinstance(strategy.release, AsTrained) else 1)
    return start if role is not None and not role.trained else start.trained()


def probe(view: View, seen: Seen) -> dict[Key, NDArray[np.floating]]:
    """Where to take gradients for one upload: the best known start; but a tensor that starts at zero and was not sent
    is taken as the server had it one round later.

    At B = 0 the gradient of A is zero, and only the first step of the round was taken there.
    """
    start = {key: known.value for key, known in seen.start.items()}
    still = [key for key in start.keys() - seen.sent if not start[key].any()]
    after = view.after(seen.round) if still else {}
    return {**start, **{key: after[key] for key in still}}
