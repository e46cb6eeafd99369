"""Shadow clients: what a client's round makes of data that the adversary has, for LiRA and RMIA."""

from collections.abc import Iterator, Sequence

import numpy as np

from fedrand.audit.attacks.lira import offline_lira
from fedrand.audit.attacks.rmia import rmia
from fedrand.audit.models import Models
from fedrand.audit.rows import Row, parted
from fedrand.audit.scoring import likelihoods
from fedrand.data.example import DataError, Example
from fedrand.datasets import some
from fedrand.evaluate import subset
from fedrand.params import Params
from fedrand.randomness import stream
from fedrand.strategy import Turn
from fedrand.train import train
from fedrand.world import World, train_settings

ATTACKS = ("LiRA", "RMIA")
POPULATION = 64  # of the auxiliary examples, which RMIA weighs an example against


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


def shadow_scores(
    world: World, target: Params, shadows: Sequence[Params], examples: Sequence[Example], population: Sequence[Example]
) -> dict[str, np.ndarray]:
    """Attack (of ATTACKS) -> the target model's score of each example, on log-likelihoods per answer token.

    population: examples that no model was trained on, for RMIA.
    """
    both = [*examples, *population]
    own = likelihoods(world, both, target)
    theirs = np.column_stack([likelihoods(world, both, shadow) for shadow in shadows])
    n = len(examples)
    return {"LiRA": offline_lira(own[:n], theirs[:n]), "RMIA": rmia(own[:n], theirs[:n], own[n:], theirs[n:])}


def shadow_rows(models: Models) -> Iterator[Row]:
    """LiRA and RMIA on the server's model (T1 knows what its last round began from) and on the rebuilt clients."""
    bench, count = models.bench, models.bench.table.shadows
    reason = "" if count else "audit.shadows is 0"
    if count and not bench.world.dataset.auxiliary:
        reason = "the data name no auxiliary examples to train shadow models on"
    if reason or not bench.views:
        yield from (
            Row(threat, model, attack, "answer", reason=reason or "no upload was taken")
            for threat, model in (("T1", "server"), ("T3", "client"))
            for attack in ATTACKS
        )
        return
    found = dict(_by_client(models, count))
    for threat, model in (("T1", "server"), ("T3", "client")):
        for attack in ATTACKS:
            scores = {client: found[model, client][attack] for client in bench.sides}
            yield Row(threat, model, attack, "answer", parted(bench.sides, scores))


def _by_client(models: Models, count: int) -> Iterator[tuple[tuple[str, str], dict[str, np.ndarray]]]:
    """(model, client) -> scores; shadows start where the attacked client's last round did, the server's where its did."""
    bench = models.bench
    population = subset(bench.world.dataset.auxiliary, POPULATION)
    size = max(len(sides.members) for sides in bench.sides.values())
    made: dict[int, list[Params]] = {}

    def of(round: int) -> list[Params]:
        if round not in made:
            start = bench.tapped.broadcast(round)
            made[round] = shadows(bench.world, start, count, size, bench.rng("shadows", str(round)))
        return made[round]

    latest = bench.tapped.rounds[-1]
    for done, (client, sides) in enumerate(bench.sides.items(), 1):
        both = [*sides.members, *sides.others]
        for model, params, round in (
            ("server", bench.final, latest),
            ("client", models.known[client], bench.histories[client][-1].round),
        ):
            yield (model, client), shadow_scores(bench.world, params, of(round), both, population)
        bench.progress.step("shadows", done, len(bench.sides), client)
