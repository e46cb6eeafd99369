"""A federation in NumPy that is written down, and whose learners remember where each round truly began."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fedrand.audit.transcript import TranscriptWriter
from fedrand.federation import Federation, Memory, Round, initial_server
from fedrand.messages import ServerState
from fedrand.params import Key, Keys, Params, copied
from fedrand.round import Trained
from fedrand.strategy import Strategy

SHAPES = {Key(layer, f): shape for layer in ("low", "top") for f, shape in (("A", (2, 5)), ("B", (4, 2)))}


@dataclass
class Drifter:
    """A learner that takes a random step; `starts` are the adapters it was given, oldest first."""

    num_examples: int
    starts: list[Params] = field(default_factory=list)

    def initial(self, rng: np.random.Generator) -> Params:
        draw = {"A": lambda shape: rng.normal(size=shape), "B": np.zeros}
        return {key: draw[key.factor](shape).astype(np.float32) for key, shape in SHAPES.items()}

    def train(self, start: Params, trained: Keys, rng: np.random.Generator, proximal: float) -> Trained:
        self.starts.append(copied(start))
        after = {
            key: value + rng.normal(size=value.shape).astype(np.float32) if key in trained else value
            for key, value in sorted(start.items())
        }
        return Trained(after, self.num_examples, steps=1)


@dataclass(frozen=True)
class Silenced:
    """A release whose uploads in some calls are NaN: `when` counts every upload of the federation."""

    when: Collection[int]
    calls: list[int] = field(default_factory=list)
    tells: bool = True

    def apply(self, start: Params, trained: Params, rng: np.random.Generator) -> Params:
        self.calls.append(len(self.calls))
        return {k: np.full_like(v, np.nan) for k, v in trained.items()} if self.calls[-1] in self.when else trained


@dataclass(frozen=True)
class Simulated:
    folder: Path
    final: Params
    learners: dict[str, Drifter]
    rounds: list[Round]

    def begun(self, client: str, round: int) -> Params:
        """The client's true adapter as a round of it began."""
        (state,) = (o.state for o in self.rounds[round].outcomes if o.upload.client == client)
        return self.learners[client].starts[state.rounds.index(round)]


def simulate(
    folder: Path, strategy: Strategy, rounds: int, clients: int = 6, per_round: int = 3, seed: int = 0
) -> Simulated:
    learners = {f"c{number}": Drifter(3 + number) for number in range(clients)}
    federation = Federation(strategy, learners, per_round, seed)
    writer, played = TranscriptWriter(folder), []
    server: ServerState = initial_server(learners["c0"], seed)
    for done in federation.rounds(server, Memory(), rounds):
        writer.record(done)
        played.append(done)
    return Simulated(folder, played[-1].after.params, learners, played)
