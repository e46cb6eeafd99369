"""The traffic that is foretold is what a federation sends."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy_world import CLIENTS, SHAPES, Walker, recipe

from fedrand.cost import traffic
from fedrand.federation import Federation, Memory, initial_server
from fedrand.params import FACTORS, Key, Params
from fedrand.recipe import Recipe

ALL = 4 * sum(int(np.prod(shape)) for shape in SHAPES.values())
A = 4 * sum(int(np.prod(shape)) for key, shape in SHAPES.items() if key.factor == "A")
TURNS = 3 * 4  # of clients in the recipe's rounds


class Wide(Walker):
    """A walker whose adapter has these factors."""

    def __init__(self, factors: tuple[str, ...]) -> None:
        super().__init__(10)
        self.shapes = {
            Key(key.layer, one): shape for key, shape in SHAPES.items() for one in factors if one[0] == key.factor
        }

    def initial(self, rng: np.random.Generator) -> Params:
        return {key: rng.normal(size=shape).astype(np.float32) for key, shape in self.shapes.items()}


def sent(made: Recipe) -> tuple[float, float]:
    """(foretold, sent) bytes both ways."""
    method = made.method()
    learner, names = Wide(FACTORS[method.adapter or "lora"]), ("all",) if method.pooled else CLIENTS
    players = Federation(method, dict.fromkeys(names, learner), made.clients_per_round, made.seed)
    begun = initial_server(learner, made.seed, method)
    outcomes = [o for r in players.rounds(begun, Memory(), made.train.rounds) for o in r.outcomes]
    return traffic(made, learner.shapes, names), sum(size(o.downloaded) + size(o.upload.params) for o in outcomes)


def size(params: Mapping[Key, np.ndarray]) -> int:
    return sum(value.nbytes for value in params.values())


@pytest.mark.parametrize(
    "overrides",
    [
        ("strategy.name=fedavg",),
        ("strategy.name=fedper", "strategy.layers=1"),
        ("strategy.name=fedpara",),
        ("strategy.name=fedpara", "strategy.form=pfedpara"),
        ("strategy.name=local",),
        ("strategy.name=centralised",),
        ("strategy.draw=stratified",),
        ("strategy.draw=stratified", "strategy.download=drawn", "strategy.first=fresh"),
    ],
    ids=" ".join,
)
def test_without_a_coin_the_bytes_are_exact(overrides):
    foretold, real = sent(recipe(*overrides))
    assert foretold == pytest.approx(real, rel=1e-9)


def test_each_strategy_s_bytes_are_the_sum_by_hand():
    assert sent(recipe("strategy.name=fedavg"))[0] == TURNS * 2 * ALL
    assert sent(recipe("strategy.name=fedpara"))[0] == TURNS * 2 * ALL  # of two pairs, one
    assert sent(recipe("strategy.name=centralised"))[0] == 4 * 2 * ALL
    assert sent(recipe("strategy.name=local"))[0] <= len(CLIENTS) * ALL


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_with_a_coin_the_bytes_are_its_mean(rho):
    foretold, _ = sent(recipe(f"strategy.rho={rho}"))
    assert foretold == pytest.approx(TURNS * (ALL + rho * A + (1 - rho) * (ALL - A)), rel=1e-12)
