"""One client's round: the only place where an Upload is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fedrand.messages import ClientState, Download, Upload
from fedrand.params import Keys, Params, copied, identical, select
from fedrand.strategy import Split, Strategy, Turn


@dataclass(frozen=True)
class Trained:
    """What local training hands back: the whole adapter, n_k, optimiser steps taken, and figures to report."""

    params: Params
    num_examples: int
    steps: int
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


class ClientError(ValueError):
    """A client's round that gave nothing usable; its text holds names and counts, no sample and no value."""


class Learner(Protocol):
    """A client's private data and the model it trains on it."""

    def initial(self, rng: np.random.Generator) -> Params:
        """A new adapter: A random, B zero."""
        ...

    def train(self, start: Params, trained: Keys, rng: np.random.Generator, proximal: float) -> Trained:
        """Train the keys in `trained` from `start`; the others keep their value. ClientError when the loss breaks."""
        ...


Fetch = Callable[[Keys], Download]


@dataclass(frozen=True)
class Outcome:
    """What a round leaves behind: `upload` travels, `state` and `split` stay with the client."""

    upload: Upload
    state: ClientState
    split: Split
    downloaded: Params


def client_round(
    client: str,
    round: int,
    strategy: Strategy,
    keys: Keys,
    state: ClientState,
    fetch: Fetch,
    learner: Learner,
    rng: np.random.Generator,
    place: tuple[int, int] = (0, 1),
) -> Outcome:
    """Draw a split, overlay the server's part on the client's own, train, release and send the shared part.

    Paper, Algorithm 2 and equations 5-7. keys: of the whole adapter, those that never leave included. `rng` is the
    client's own: its draw never comes from a message. place: the client's in the server's draw, and of how many; a
    stratified draw alone goes by it.
    """
    draw, fresh, order, noise = rng.spawn(4)
    turn = Turn(round, not state.local, state.rounds[-1] if state.rounds else None, *place)
    split = strategy.sharing.split(keys, turn, draw)
    download = fetch(strategy.held(keys) if strategy.download == "both" else split.needed)
    start = _start(split, state, download, learner, fresh)
    trained = learner.train(start, split.trained, order, strategy.proximal)
    _check(trained, start, keys)
    local = copied(trained.params)  # a learner may hand back views into the vector that it trains the next client in
    before, after = select(start, split.shared), select(local, split.shared)
    told: Mapping[str, float] = trained.metrics if strategy.release.tells else {}
    upload = Upload(client, round, strategy.release.apply(before, after, noise), trained.num_examples, told)
    return Outcome(upload, ClientState(local, (*state.rounds, round)), split, download.params)


def _start(split: Split, state: ClientState, download: Download, learner: Learner, rng: np.random.Generator) -> Params:
    fresh = select(learner.initial(rng), split.fresh) if split.fresh else {}
    start = {**state.local, **select(download.params, split.needed), **fresh}
    return copied(select(start, split.trained | split.frozen))


def _check(trained: Trained, start: Params, keys: Keys) -> None:
    if missing := keys - trained.params.keys():
        raise ClientError(f"training lost {len(missing)} tensors, first {min(missing)}")
    if broken := sorted(key for key in keys if not np.isfinite(trained.params[key]).all()):
        raise ClientError(f"{len(broken)} tensors hold NaN or Inf after training, first {broken[0]}; lower the rate")
    if trained.steps > 0 and identical(trained.params, start):
        raise ClientError(
            f"{trained.steps} training steps changed no tensor; the optimiser holds other tensors or the loss reaches "
            "no adapter"
        )
