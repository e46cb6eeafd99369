"""Shadow clients: what a client's round makes of data that the adversary has, for LiRA and RMIA."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedrand.audit.attacks.lira import offline_lira
from fedrand.audit.attacks.rmia import rmia
from fedrand.audit.models import Models
from fedrand.audit.rows import Row, parted
from fedrand.audit.scoring import Slot, likelihoods
from fedrand.data.example import DataError, Example
from fedrand.datasets import some
from fedrand.evaluate import subset
from fedrand.params import Params
from fedrand.randomness import stream
from fedrand.strategy import Turn
from fedrand.train import train
from fedrand.world import World, train_settings

ATTACKS = ("LiRA", "RMIA")
LOSS: Slot = ("loss", "answer")  # the log-likelihood per token, which the models were scored with already
POPULATION = 64  # of the auxiliary examples, which RMIA weighs an example against

Values = NDArray[np.float64]


def shadows(world: World, start: Params, count: int, size: int, rng: np.random.Generator) -> list[Params]:
    """`count` adapters after one client's round from `start`, an adapter that the adversary knows, each on about `size`
    auxiliary examples (whole groups) that were never any client's. DataError where the data name none.

    size: the attacked client's n_k; all of the auxiliary data where they are fewer.
    """
    auxiliary = world.dataset.auxiliary
    if not auxiliary:
        raise DataError("the data name no auxiliary examples to train shadow models on; set audit.shadows = 0")
    sharing = world.recipe.method().sharing
    trained = sharing.split(frozenset(start), Turn(1, first=False), stream(0, "method")).trained
    settings = train_settings(world.recipe)
    made: list[Params] = []
    for draw, order in [own.spawn(2) for own in rng.spawn(count)]:
        encoded = world.encoded(some(auxiliary, size, draw))
        made.append(train(world.vlm, world.adapter, world.features, encoded, start, trained, settings, order).params)
    return made


def shadow_scores(target: Values, shadows: Values, others_target: Values, others_shadows: Values) -> dict[str, Values]:
    """Attack (of ATTACKS) -> the target model's score of each example, [n], on log-likelihoods per answer token.

    target [n] and shadows [n, N] of the attacked examples; others_target [m] and others_shadows [m, N] of a population
    that no model was trained on, for RMIA.
    """
    return {
        "LiRA": offline_lira(target, shadows),
        "RMIA": rmia(target, shadows, others_target, others_shadows),
    }


def shadow_rows(models: Models) -> Iterator[Row]:
    """LiRA and RMIA on the server's model (T1 knows what its last round began from) and on the rebuilt clients."""
    bench = models.bench
    reason = "" if bench.table.shadows else "audit.shadows is 0"
    if not reason and not bench.world.dataset.auxiliary:
        reason = "the data name no auxiliary examples to train shadow models on"
    if reason or not bench.views:
        yield from (
            Row(threat, model, attack, "answer", reason=reason or "no upload was taken")
            for threat, model in (("T1", "server"), ("T3", "client"))
            for attack in ATTACKS
        )
        return
    found = dict(_by_client(models))
    for threat, model in (("T1", "server"), ("T3", "client")):
        for attack in ATTACKS:
            scores = {client: found[model, client][attack] for client in bench.sides}
            yield Row(threat, model, attack, "answer", parted(bench.sides, scores))


def _by_client(models: Models) -> Iterator[tuple[tuple[str, str], dict[str, Values]]]:
    """(model, client) -> scores; shadows start where the attacked client's last round did, the server's where its did.

    A client of the server's last round is held against the same shadows twice, which look at its examples once.
    """
    bench = models.bench
    population = subset(bench.world.dataset.auxiliary, POPULATION)
    crowd = cache(lambda round: _crowd(models, round, population))
    final, latest = likelihoods(bench.world, population, bench.final), bench.tapped.rounds[-1]
    for done, (client, sides) in enumerate(bench.sides.items(), 1):
        both, known = [*sides.members, *sides.others], models.known[client]
        last = bench.histories[client][-1].round
        theirs = {round: _seen_by(bench.world, crowd(round).models, both) for round in {latest, last}}
        unseen = likelihoods(bench.world, population, known)
        for model, round, others in (("server", latest, final), ("client", last, unseen)):
            own = np.array([models.value(model, LOSS, client, example) for example in both])
            yield (model, client), shadow_scores(own, theirs[round], others, crowd(round).population)
        bench.progress.step("shadows", done, len(bench.sides), client)


class _Crowd(NamedTuple):
    """The shadows of one round, and what they say of the population, [m, N]."""

    models: list[Params]
    population: Values


def _crowd(models: Models, round: int, population: Sequence[Example]) -> _Crowd:
    bench = models.bench
    start, rng = bench.tapped.broadcast(round), bench.rng("shadows", str(round))
    size = max(len(sides.members) for sides in bench.sides.values())
    made = shadows(bench.world, start, bench.table.shadows, size, rng)
    return _Crowd(made, _seen_by(bench.world, made, population))


def _seen_by(world: World, models: Sequence[Params], examples: Sequence[Example]) -> Values:
    """Log-likelihoods per answer token, [examples, models]."""
    return np.column_stack([likelihoods(world, examples, params) for params in models])
