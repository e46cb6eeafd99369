"""P3: canaries that a coin put into training or kept out, guessed by an attack; what that proves of epsilon."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedrand.audit.models import Models
from fedrand.audit.sent import COSINE, Uploads
from fedrand.audit.statistics import one_run
from fedrand.audit.uploads import combined

TITLE = "Canaries put into clients' data by a coin before training: a lower bound on epsilon from this one run"
SHARE = 4  # one canary in so many is called in, as many are called out; fixed before any score is seen
FEWEST = 2  # canaries of audited clients: one called in and one called out

Scores = Mapping[tuple[str, str], float]
"""(client, canary's id) -> score, higher = trained on."""


def proven(models: Models, found: Uploads) -> dict[str, Any]:
    """The part "P3" of audit.json: an epsilon per attack fixed beforehand, on the canaries of clients that took part."""
    bench = models.bench
    coins = {
        (name, e.id): side
        for name, s in bench.canaries.items()
        for side, es in ((True, s[0]), (False, s[1]))
        for e in es
    }
    attacks = {
        ("T0", "server", "reference"): _reference(models, "server"),
        ("T3", "client", "reference"): _reference(models, "client"),
    }
    attacks["T3", "update", COSINE] = _cosines(models, found)
    lines = [
        {"threat": threat, "model": model, "attack": attack, **_bound(scores, coins, bench.how.level)}
        for (threat, model, attack), scores in attacks.items()
        if len(coins) >= FEWEST and coins.keys() <= scores.keys()
    ]
    return {"title": TITLE, "canaries": len(coins), "epsilon": lines}


def _reference(models: Models, model: str) -> Scores:
    every = models.bench.canaries.items()
    return {(name, e.id): models.reference(model, name, e) for name, sides in every for side in sides for e in side}


def _cosines(models: Models, found: Uploads) -> Scores:
    scores: dict[tuple[str, str], float] = {}
    for name, rounds in found.items():
        values, canaries = combined(rounds)[COSINE], [e for side in models.bench.canaries[name] for e in side]
        last = values[len(values) - len(canaries) :]  # they close the list of what is asked about
        scores |= {(name, e.id): float(v) for e, v in zip(canaries, last, strict=True)}
    return scores


def _bound(scores: Scores, coins: Mapping[tuple[str, str], bool], level: float) -> dict[str, Any]:
    keys = sorted(coins)
    values, inside = np.array([scores[key] for key in keys]), np.array([coins[key] for key in keys])
    found = one_run(values, inside, 2 * max(1, len(keys) // (2 * SHARE)), level=level)
    return {"low": found.low, "level": found.level, "guesses": found.guesses, "correct": found.correct}
