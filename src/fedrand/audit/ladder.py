"""The reconstruction ladder: a client's whole adapter as a curious server can put it together, rung by rung.

The tensors of the client's newest upload are known; the rungs differ in what stands for the others. A claim about the
clients' models is about the worst rung.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrand.audit.views import View
from fedrand.data.example import Example
from fedrand.params import Key, Params, difference, norm
from fedrand.train import train
from fedrand.world import World, train_settings

TITLES = {
    "R0": "the true adapter, which only the client has",
    "R1": "the newest half, and the newest earlier other half",
    "R2": "the newest half, and the server's other half as that round began",
    "R3": "the newest half, and the server's other half after that round",
    "R4": "the newest half, and the earlier other half moved as the server's moved since",
    "R6": "the newest half, and the earlier other half fitted further on public data",
}


@dataclass(frozen=True)
class Rebuilt:
    """R1. age: rounds between the client's newest upload and the one that held each tensor; None where it never sent
    it and the server's own value stands in."""

    params: Params
    age: dict[Key, int | None]

    @property
    def stale(self) -> list[int]:
        """The ages of the tensors that came from the client, each age once."""
        return sorted({age for age in self.age.values() if age is not None})


@dataclass(frozen=True)
class _Newest:
    """A client's newest value of each tensor it ever sent, and the round of it; `round` is that of its last upload."""

    round: int
    values: dict[Key, NDArray[np.floating]]
    rounds: dict[Key, int]


def rebuilt(view: View, client: str = "") -> Rebuilt:
    """R1 (paper.md, decision 12): the newest upload, and for what it lacks the newest earlier one that held it;
    what the client never sent is taken from the broadcast of its last round."""
    sent = _newest(view, client)
    params = {**view.broadcast(sent.round), **sent.values}
    return Rebuilt(params, {key: sent.round - sent.rounds[key] if key in sent.rounds else None for key in params})


def rungs(view: View, client: str = "") -> dict[str, Params]:
    """R1 to R4 by name; empty for a client of which the server took no upload."""
    if not view.uploads(client):
        return {}
    sent = _newest(view, client)
    latest = {key: value for key, value in sent.values.items() if sent.rounds[key] == sent.round}
    begin, end = view.broadcast(sent.round), view.after(sent.round)
    stale = {**begin, **sent.values}
    then = {round: view.after(round) for round in {*sent.rounds.values()} - {sent.round}}
    moved = {key: stale[key] + end[key] - then.get(sent.rounds.get(key), begin)[key] for key in end}
    return {name: {**rest, **latest} for name, rest in {"R1": stale, "R2": begin, "R3": end, "R4": moved}.items()}


def fitted(
    world: World,
    view: View,
    auxiliary: Sequence[Example],
    rng: np.random.Generator,
    client: str = "",
    *,
    steps: int = 30,
    pull: float = 0.1,
) -> Params:
    """R6: what the newest upload lacks, trained from its R1 value on data the server has, with the sent half held still.

    auxiliary: public examples, none of a client's. pull: weight of the squared distance to the R1 value (FedProx's mu).
    """
    start, last = rebuilt(view, client), view.uploads(client)[-1]
    missing = frozenset(start.params) - view.read(last).keys()
    if not missing:
        return start.params
    settings = train_settings(world.recipe)
    epochs = math.ceil(steps * settings.batch_size / len(auxiliary))
    settings = replace(settings, epochs=epochs, max_steps=steps)
    encoded = world.encoded(auxiliary)
    found = train(world.vlm, world.adapter, world.features, encoded, start.params, missing, settings, rng, pull)
    return found.params


def truth(view: View, client: str) -> Params:
    """R0: the client's whole adapter after its last training; only an oracle sees it."""
    return view.read(view.true(client)[-1])


def distance(estimate: Params, true: Params) -> float:
    """||estimate - true|| / ||true|| over all tensors together."""
    return norm(difference(estimate, true)) / norm(true)


def _newest(view: View, client: str) -> _Newest:
    values: dict[Key, NDArray[np.floating]] = {}
    rounds: dict[Key, int] = {}
    entries = view.uploads(client)
    for entry in entries:
        sent = view.read(entry)
        values |= sent
        rounds |= dict.fromkeys(sent, entry.round)
    return _Newest(entries[-1].round, values, rounds)
