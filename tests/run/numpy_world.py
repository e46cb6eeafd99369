"""A federation in NumPy whose bits depend on every draw and on every client's own past: what a resumed run must repeat."""

from pathlib import Path

import numpy as np

from fedrand.audit.transcript import TranscriptWriter
from fedrand.federation import Federation, initial_server
from fedrand.messages import ServerState
from fedrand.params import Key, Keys, Params
from fedrand.progress import Progress
from fedrand.recipe import Recipe, load_recipe
from fedrand.recorded import federate
from fedrand.round import Trained
from fedrand.runfolder import RunFolder

SHAPES = {
    Key(f"layers.{layer}.q_proj", factor): shape
    for layer in range(2)
    for factor, shape in (("A", (2, 5)), ("B", (4, 2)))
}
CLIENTS = tuple(f"c{number:02d}" for number in range(5))
IDENTITY = {"model": {"name": "numpy", "fingerprint": "0"}, "data": {"name": "numpy", "fingerprint": "0"}}
ENVIRONMENT = {**IDENTITY, "seed": 0, "versions": {}}
SPLIT = {"seed": 0, "clients": {name: {"members": [f"{name}-0"], "held_out": [f"{name}-1"]} for name in CLIENTS}}


class Walker:
    """A learner that takes a random step from a quarter of where it started."""

    def __init__(self, num_examples: int) -> None:
        self.num_examples = num_examples

    def initial(self, rng: np.random.Generator) -> Params:
        draw = {key: rng.normal(size=shape).astype(np.float32) for key, shape in SHAPES.items()}
        return {key: value * (key.factor == "A") for key, value in draw.items()}

    def train(self, start: Params, trained: Keys, rng: np.random.Generator, proximal: float) -> Trained:
        after = {
            key: (value / 4 + rng.normal(size=value.shape)).astype(np.float32) if key in trained else value
            for key, value in sorted(start.items())
        }
        return Trained(after, self.num_examples, steps=1, metrics={"loss_mean": 1.0})


def recipe(*overrides: str) -> Recipe:
    sizes = ("data.clients=5", "train.clients_per_round=3", "train.rounds=4")
    return load_recipe("emoji", (*sizes, *overrides))


def federation(made: Recipe) -> Federation:
    learners = {name: Walker(10 + number) for number, name in enumerate(CLIENTS)}
    return Federation(made.method(), learners, made.train.clients_per_round, made.seed)


def start(path: Path, made: Recipe | None = None) -> RunFolder:
    """A folder with round 0 in it."""
    folder = RunFolder.create(path, made or recipe())
    _begin(folder)
    return folder


def _begin(folder: RunFolder) -> None:
    players = federation(folder.recipe)
    folder.begin(ENVIRONMENT, SPLIT, initial_server(players.learners[CLIENTS[0]], folder.recipe.seed))


def go_on(folder: RunFolder, until: int | None = None) -> ServerState:
    """Up to `until`, or the recipe's end; an unfinished beginning is made anew."""
    if not folder.begun:
        _begin(folder)
    made = folder.recipe
    writer = TranscriptWriter(folder.transcript)
    return federate(folder, federation(made), writer, until or made.train.rounds, Progress())


def contents(path: Path) -> dict[str, bytes]:
    """Every file of the folder but those that hold the time: what must not depend on kills."""
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    kept = (file for file in files if file.name not in ("metrics.jsonl", ".lock"))
    return {str(file.relative_to(path)): file.read_bytes() for file in kept}
