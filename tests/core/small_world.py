"""A federation of two tiny layers whose clients add a number instead of training: results can be worked out by hand."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Literal, get_args, get_origin

import numpy as np

from fedrand.federation import Federation, Memory, Round
from fedrand.messages import Download, ServerState, Upload
from fedrand.params import FACTORS, Key, Keys, Params, copied
from fedrand.round import Trained
from fedrand.strategies import STRATEGIES
from fedrand.strategy import Strategy

LOW_A, LOW_B = Key("layers.0.q_proj", "A"), Key("layers.0.q_proj", "B")
TOP_A, TOP_B = Key("layers.1.q_proj", "A"), Key("layers.1.q_proj", "B")
SHAPES = {LOW_A: (2, 3), LOW_B: (3, 2), TOP_A: (2, 4), TOP_B: (4, 2)}
KEYS: Keys = frozenset(SHAPES)
SECOND = {Key(key.layer, f"{key.factor}2"): shape for key, shape in SHAPES.items()}
WIDE = {**SHAPES, **SECOND}  # of a Hadamard adapter
SMALL = {"fedper": {"layers": 1}}  # of the two there are


def constant(value: float, keys: Keys = KEYS, dtype: type = np.float32) -> dict[Key, np.ndarray]:
    return {key: np.full(WIDE[key], value, dtype) for key in sorted(keys)}


def keys_of(strategy: Strategy, layers: Sequence[str] = ("layers.0.q_proj", "layers.1.q_proj")) -> Keys:
    """Every key of an adapter that the strategy is made for."""
    return frozenset(Key(layer, factor) for layer in layers for factor in FACTORS[strategy.adapter or "lora"])


def halves(keys: Keys, factor: str) -> Keys:
    return frozenset(key for key in keys if key.factor == factor)


def upload(client: str, params: Params, num_examples: int = 1, round: int = 0) -> Upload:
    return Upload(client, round, params, num_examples)


@dataclass
class Adder:
    """A learner that adds `amount` to every trained tensor and remembers where it started."""

    amount: float = 1.0
    num_examples: int = 1
    keys: Keys = KEYS
    starts: list[Params] = field(default_factory=list)

    def initial(self, rng: np.random.Generator) -> Params:
        shapes = {key: shape for key, shape in WIDE.items() if key in self.keys}
        draw = {key: rng.uniform(-0.4, 0.4, shape).astype(np.float32) for key, shape in shapes.items()}
        return {key: value * (key.factor != "B") for key, value in draw.items()}

    def train(self, start: Params, trained: Keys, rng: np.random.Generator, proximal: float) -> Trained:
        self.starts.append(copied(start))
        after = {key: value + np.float32(self.amount) * (key in trained) for key, value in start.items()}
        return Trained(after, self.num_examples, steps=1)


def from_server(server: Params, asked: list[Keys] | None = None):
    """A fetch that answers with the server's tensors and notes which were asked for."""

    def fetch(keys: Keys) -> Download:
        if asked is not None:
            asked.append(keys)
        return Download(0, {key: server[key] for key in keys})

    return fetch


def play(strategy: Strategy, learners: dict, rounds: int, server: ServerState, seed: int = 0) -> list[Round]:
    """Every client in every round."""
    federation = Federation(strategy, learners, clients_per_round=len(learners), seed=seed)
    return list(federation.rounds(server, Memory(), until=rounds))


def variants() -> Iterator[tuple[str, Strategy]]:
    """Every strategy as it is, and once with each other value of each of its options of few choices."""
    for name, method in STRATEGIES.items():
        make = partial(method, **SMALL.get(name, {}))
        yield name, make()
        for option in inspect.signature(method, eval_str=True).parameters.values():
            for value in _choices(option.annotation):
                if value != option.default:
                    yield f"{name} {option.name}={value}", make(**{option.name: value})


def _choices(annotation: object) -> Sequence[object]:
    if annotation is bool:
        return (True, False)
    return get_args(annotation) if get_origin(annotation) is Literal else ()


VARIANTS = [SimpleNamespace(id=name, strategy=strategy) for name, strategy in variants()]
