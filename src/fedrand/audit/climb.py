"""The reconstruction ladder of every client, measured: how far from the truth each rung is, and how much it leaks."""

from collections.abc import Mapping

from fedrand.audit.bench import Bench
from fedrand.audit.ladder import TITLES, distance, fitted, rungs
from fedrand.audit.models import REFERENCE, Models
from fedrand.audit.rows import sampled
from fedrand.audit.scoring import Scored, scored
from fedrand.audit.statistics import auroc, two_level_interval
from fedrand.params import Params, identical
from fedrand.round import ClientError

ByClient = Mapping[str, Params]


def climbed(models: Models) -> list[dict]:
    """The part "ladder" of audit.json, from the truth (R0) down."""
    bench = models.bench
    true = {name: bench.true(name) for name in bench.views}
    lines = [_line(models, "R0", true, models.scores["oracle"], true)] if true else []
    spared = {"R0"} if bench.world.dataset.auxiliary else {"R0", "R6"}
    names = [rung for rung in TITLES if rung not in spared] if bench.views else []
    for done, rung in enumerate(names, 1):
        every = {name: _estimate(bench, rung, name) for name in bench.views}
        lines.append(_line(models, rung, every, _scored(models, every), true))
        bench.progress.step("ladder", done, len(names), rung)
    return lines


def _estimate(bench: Bench, rung: str, client: str) -> Params:
    """One client's estimate, made when its rung is measured: all rungs of all clients at once would be many adapters."""
    view = bench.views[client]
    if rung != "R6":
        return rungs(view)[rung]
    try:
        return fitted(bench.world, view, bench.world.dataset.auxiliary, bench.rng("R6", client))
    except ClientError:  # at the run's rate the fit diverges, and leaves the server with what it had
        return rungs(view)["R1"]


def _scored(models: Models, every: ByClient) -> dict[str, Scored]:
    """Scores of the reference attack; a rung that is R1 to the bit has its scores."""
    attack, bench = [one for one in models.attacks if (one.name, one.slice) == REFERENCE], models.bench
    return {
        name: models.scores["client"][name]
        if identical(params, models.known[name])
        else scored(bench.world, bench.own(name), params, attack)
        for name, params in every.items()
    }


def _line(models: Models, rung: str, every: ByClient, scores: Mapping[str, Scored], true: ByClient) -> dict:
    held = Models(models.bench, models.attacks, models.known, {**models.scores, rung: scores})
    samples = sampled(models.bench.sides, lambda client, example: held.reference(rung, client, example))
    far = {name: distance(params, true[name]) for name, params in every.items()}
    found = two_level_interval(list(samples.values()), models.bench.how.level) if samples else None
    each = {name: {"distance": far[name], "auroc": auroc(one.members, one.others)} for name, one in samples.items()}
    return {
        "rung": rung,
        "title": TITLES[rung],
        "distance": sum(far.values()) / len(far),
        **(found._asdict() if found else dict.fromkeys(("auroc", "low", "high"))),
        "per_client": each,
    }
