"""Attacks on what was sent, as rows: one client's uploads (T3), everyone's (T3+), and what broadcasts alone give away."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fedrand.activations import touched
from fedrand.audit.bench import Bench
from fedrand.audit.rows import Row, parted
from fedrand.audit.statistics import two_level_interval
from fedrand.audit.updates.averaged import averaged
from fedrand.audit.updates.cosine import cosines
from fedrand.audit.updates.fedmia import FedMIA
from fedrand.audit.updates.gradient import Gradients, Scores
from fedrand.audit.updates.harvest import lone_senders
from fedrand.audit.uploads import RoundScores, combined, fedmia_cosine, round_rows, upload_losses, upload_scores
from fedrand.params import Keys, Params, difference, select

COSINE = "gradient cosine"
Uploads = Mapping[str, Sequence[RoundScores]]
ByClient = Mapping[str, Scores]
"""client -> a score per example of `Bench.own`."""


def uploads(bench: Bench) -> dict[str, list[RoundScores]]:
    """Every client's newest `audit.uploads` uploads, all of them for 0, scored on everything of its own."""
    examples = {name: bench.own(name) for name in bench.views}
    return upload_scores(bench.world, bench.view("T3+"), examples, bench.progress, newest=bench.table.uploads or None)


def upload_rows(bench: Bench, found: Uploads) -> Iterator[Row]:
    """T3: the last upload alone, and all that were looked at, averaged; T3+: FedMIA, which compares clients."""
    known = sum(one[-1].seen.fully_known for one in found.values())
    last = {name: rounds[-1].values[COSINE] for name, rounds in found.items()}
    told = {"start_known": {"clients": known, "of": len(found)}}
    yield _row(bench, "T3", COSINE, "last upload", last, more=told)
    every = {name: combined(rounds) for name, rounds in found.items()}
    for attack in dict.fromkeys(attack for own in every.values() for attack in own):
        own = {name: values[attack] for name, values in every.items() if attack in values}
        yield _row(bench, "T3", attack, _looked_at(bench), own, headline=attack == COSINE)
    crowds = {name: fedmia_cosine(rounds) for name, rounds in found.items()}
    yield _crowd_row(bench, "FedMIA cosine", _looked_at(bench), crowds)
    view = bench.view("T3+")
    losses = {name: upload_losses(bench.world, view, name, bench.own(name), newest=1) for name in found}
    yield _crowd_row(bench, "FedMIA loss", "last upload", losses)


def broadcast_rows(bench: Bench) -> Iterator[Row]:
    """T1: what two broadcasts in a row say about those who trained between them; where a client alone sent a half, that
    is its own upload, whatever hides single uploads from the server."""
    lone = lone_senders(bench.index)
    together, alone = dict[str, Scores](), dict[str, Scores]()
    for done, (name, history) in enumerate(bench.histories.items(), 1):
        rounds = {seen.round for seen in history[-1:]} | {round for round, client in lone if client == name}
        found = {round: _changed(bench, name, round, lone.get((round, name), frozenset())) for round in sorted(rounds)}
        together[name] = found[history[-1].round][0]
        if harvested := [own for _, own in found.values() if own is not None]:
            alone[name] = averaged(harvested)
        bench.progress.step("broadcasts", done, len(bench.histories), name)
    yield _row(bench, "T1", COSINE, "last aggregate", together)
    reason = "" if alone else "no half had a single sender"
    yield _row(bench, "T1", COSINE, "harvested halves", alone, reason=reason)


def leak_over_rounds(bench: Bench, found: Uploads) -> list[dict]:
    """The part "rounds" of audit.json: the gradient cosine of each upload that was looked at."""
    lines = round_rows(found, bench.index)
    scores = [one.values[COSINE] for rounds in found.values() for one in rounds]
    return [
        {**line, **two_level_interval([sample], bench.how.level)._asdict()}
        for line, values in zip(lines, scores, strict=True)
        if (sample := _samples(bench, {line["client"]: values}).get(line["client"]))
    ]


def _changed(bench: Bench, client: str, round: int, alone: Keys) -> tuple[Scores, Scores | None]:
    """Cosines of the client's examples with the change from this broadcast to the next, and with what it alone sent."""
    begin, end = bench.tapped.broadcast(round), bench.tapped.after(round)
    change = {key: value for key, value in difference(begin, end).items() if value.any()}
    lone = select(change, alone & change.keys())
    parts = [
        (_along(batch.gradients, change), _along(batch.gradients, lone))
        for batch in touched(bench.world.adapter, bench.world.features, bench.world.encodings(bench.own(client)), begin)
    ]
    whole, own = (np.concatenate(values) for values in zip(*parts, strict=True))
    return whole, own if lone else None


def _along(gradients: Params, change: Params) -> Scores:
    return (
        cosines(Gradients(select(gradients, change)), change)
        if change
        else np.zeros(len(next(iter(gradients.values()))))
    )


def _looked_at(bench: Bench) -> str:
    return f"last {bench.table.uploads} uploads" if bench.table.uploads else "all uploads"


def _crowd_row(bench: Bench, attack: str, slice: str, found: Mapping[str, FedMIA]) -> Row:
    used = {name: one.scores for name, one in found.items() if one.rounds}
    reason = "" if used else "no half was ever sent by two others in the same round"
    more = {"pooled_rounds": sum(one.pooled for one in found.values())}
    return _row(bench, "T3+", attack, slice, used, reason=reason, more=more)


def _row(
    bench: Bench, threat: str, attack: str, slice: str, scores: ByClient, headline=False, reason="", more=None
) -> Row:
    return Row(threat, "update", attack, slice, _samples(bench, scores), None, reason, headline, more or {})


def _samples(bench: Bench, scores: ByClient):
    """By client; one whose scores are all the same gave the attack nothing to look at."""
    return parted({name: bench.sides[name] for name, own in scores.items() if np.ptp(own) > 0}, scores)
