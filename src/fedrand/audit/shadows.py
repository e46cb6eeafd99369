"""Shadow clients: what a client's round makes of data that the adversary has, for LiRA and RMIA."""

from collections.abc import Sequence

import numpy as np

from fedrand.audit.attacks.lira import offline_lira
from fedrand.audit.attacks.rmia import rmia
from fedrand.audit.scoring import likelihoods
from fedrand.data.example import DataError, Example
from fedrand.datasets import some
from fedrand.params import Params
from fedrand.randomness import stream
from fedrand.strategy import Turn
from fedrand.train import train
from fedrand.world import World, train_settings

ATTACKS = ("LiRA", "RMIA")


def shadows(world: World, start: Params, count: int, size: int, rng: np.random.Generator) -> list[Params]:
    """`count` adapters after one client's round from `start`, an adapter that the adversary knows, each on about `size`
    auxiliary examples (whole groups) that were never any client's. DataError where the data name none.

    size: the attacked client's n_k; all of the auxiliary data where they are fewer.
    """
    auxiliary = world.dataset.auxiliary
    if not auxiliary:
        raise DataError("the data name no auxiliary examples to train shadow models on; set audit.shadows = 0")
    sharing = world.recipe.strategy.build().sharing
    trained = sharing.split(frozenset(start), Turn(1, first=False), stream(0, "method")).trained
    settings = train_settings(world.recipe)
    made: list[Params] = []
    for draw, order in [own.spawn(2) for own in rng.spawn(count)]:
        encoded = world.encoded(some(auxiliary, size, draw))
        made.append(train(world.vlm, world.adapter, world.features, encoded, start, trained, settings, order).params)
    return made


def shadow_scores(
    world: World, target: Params, shadows: Sequence[Params], examples: Sequence[Example], population: Sequence[Example]
) -> dict[str, dict[str, float]]:
    """Attack (of ATTACKS) -> example id -> score of the target model, on log-likelihoods per answer token.

    population: examples that no model was trained on, for RMIA.
    """
    both = [*examples, *population]
    own = likelihoods(world, both, target)
    theirs = np.column_stack([likelihoods(world, both, shadow) for shadow in shadows])
    n = len(examples)
    found = {"LiRA": offline_lira(own[:n], theirs[:n]), "RMIA": rmia(own[:n], theirs[:n], own[n:], theirs[n:])}
    return {
        name: {example.id: float(value) for example, value in zip(examples, values, strict=True)}
        for name, values in found.items()
    }
