"""An audit of one run: every adversary's attacks on its transcript, with controls, as audit.json holds them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedrand.audit.bench import Bench
from fedrand.audit.climb import climbed
from fedrand.audit.controls import blind_image, blind_text
from fedrand.audit.exhibits import curves, entropies, exposed, histograms
from fedrand.audit.headlines import sentences
from fedrand.audit.knowledge import ledger
from fedrand.audit.ladder import rebuilt
from fedrand.audit.models import Models, attacked_models
from fedrand.audit.paired import kept
from fedrand.audit.planted import proven
from fedrand.audit.protocols import BANNER, TITLES, domain_shift, null, same_distribution, strangers
from fedrand.audit.rows import Row, Samples, Sides, line, sampled
from fedrand.audit.sent import Uploads, broadcast_rows, leak_over_rounds, upload_rows, uploads
from fedrand.audit.shadows import shadow_rows
from fedrand.audit.statistics import Family, family, permuted, two_level_interval
from fedrand.audit.transcript import refuse_lost_uploads
from fedrand.audit.updates.harvest import singletons
from fedrand.audit.verdict import threats
from fedrand.audit.wording import NOT_TESTED
from fedrand.errors import InputError, suggested
from fedrand.progress import Progress
from fedrand.recipe import audited_with
from fedrand.runfile import AUDIT_VERSION
from fedrand.runfolder import RunFolder
from fedrand.world import World

SILENT = Progress()
SILENCE = "no upload was taken: nobody sent anything that could be attacked"
Report = dict[str, Any]


def audit(run: Path, progress: Progress = SILENT, world: World | None = None, overrides: Sequence[str] = ()) -> Report:
    """Attack a finished run; returns what audit.json holds. InputError when the run is not finished, or its data or
    model are no longer what they were. world: the run's, where it is in memory still. overrides: of the recipe's [audit]
    and [memory], such as "audit.uploads=0"."""
    folder = RunFolder.open(run)
    if not folder.finished:
        raise InputError(f"{run} is not finished; go on with: {suggested('resume', run)}")
    folder.read_json("results.json")  # refused before minutes of attacks, not after
    folder.check_recipe(free="audit")
    recipe = audited_with(folder.recipe, overrides)
    refuse_lost_uploads(folder)
    from fedrand.world import build

    with folder.locked():  # so is a folder that cannot be written to
        world = replace(world, recipe=recipe) if world else build(recipe, progress)
        folder.check_world(world.identity(), world.split())
        found = attacked(world, folder, progress)
        folder.write_json("audit.json", found)
    return found


def attacked(world: World, folder: RunFolder, progress: Progress = SILENT) -> Report:
    """What audit.json holds, from a run's world and its folder; writes nothing."""
    begun = time.perf_counter()
    bench = Bench(world, folder, progress)
    world.look(bench.everyone, progress)
    models = attacked_models(bench)
    sent = uploads(bench)
    found = _protocols(models, sent) | _histories(models, sent)
    found |= {
        "version": AUDIT_VERSION,
        "seed": world.recipe.seed,
        "settings": world.recipe.audit.model_dump(mode="json"),
        "provenance": world.identity() | {"method": world.recipe.strategy.name},
        "protections": _protections(bench),
        "rebuilt": {name: {"stale_rounds": rebuilt(view).stale} for name, view in bench.views.items()},
        "absent": sorted(set(world.clients) - bench.asked),
        "silent": sorted(bench.asked - set(bench.views)),
        "not_tested": list(NOT_TESTED),
        "seconds": time.perf_counter() - begun,
    }
    epsilons = found["protocols"].get("P3", {}).get("epsilon", ())
    found["threats"] = threats(found["protocols"]["P1"]["rows"], epsilons)
    return found | {"verdict": sentences(found)}


def _protocols(models: Models, sent: Uploads) -> Report:
    """Every row of every protocol, the controls, and what the page draws from the rows of P1."""
    bench = models.bench
    controls = _controls(bench, bench.sides)
    blind = _stronger(controls)
    rows = [*same_distribution(models), *upload_rows(bench, sent), *broadcast_rows(bench), *shadow_rows(models)]
    ours = _family(bench, rows)
    protocols = {"P1": _told(models, "P1", rows, blind, ours), "P2": _told(models, "P2", strangers(models))}
    protocols["P4"] = _told(models, "P4", null(models))
    if bench.shifted:
        protocols["P0"] = _told(models, "P0", domain_shift(models)) | {"banner": BANNER}
    if bench.table.canaries:
        protocols["P3"] = proven(models, sent)
    headlines = [row for row in rows if row.headline and row.applies and row.model != "oracle"]
    return {
        "protocols": protocols,
        "controls": _control_lines(bench, controls, headlines),
        "family": _family_line(bench, rows, ours),
        "roc": curves(models, headlines),
        "histograms": histograms(headlines, blind),
        "exposed": exposed(headlines, bench.sides),
        "scores": kept(rows, bench.sides),
    }


def _histories(models: Models, sent: Uploads) -> Report:
    """What the rounds gave away, what the server knew of their starts, and how near it can rebuild a client."""
    bench = models.bench
    normalized = getattr(bench.world.strategy.aggregation, "normalize", True)
    return {
        "knowledge": ledger(bench.histories),
        "singletons": singletons(bench.view("T2"), bench.index, normalized),
        "rounds": leak_over_rounds(bench, sent),
        "ladder": climbed(models),
        "entropy": entropies(models),
    }


def _told(
    models: Models, name: str, rows: Iterable[Row], blind: Samples | None = None, ours: Family | None = None
) -> Report:
    bench = models.bench
    known = rows if bench.views else (replace(row, reason=SILENCE) for row in rows)
    lines = [line(row, blind, ours, bench.rng(name, row.name), bench.how) for row in known]
    return {"title": TITLES[name], "rows": lines}


def _controls(bench: Bench, sides: Mapping[str, Sides]) -> dict[str, Samples]:
    """Blind classifiers over all clients together, scored within each; without images only the text is asked."""
    members, others = ([e for one in sides.values() for e in one[side]] for side in (0, 1))
    if not members or not others:
        return {}
    asked = {"blind_text": blind_text}
    if all(example.image for example in (*members, *others)):
        asked["blind_image"] = blind_image
    found = {name: classify(members, others, bench.rng(name)) for name, classify in asked.items()}
    return {name: sampled(sides, lambda client, e, s=scores: s[e.id]) for name, scores in found.items()}


def _stronger(controls: Mapping[str, Samples]) -> Samples | None:
    """The blind classifier that tells the sides apart best, if one was asked."""
    return max(controls.values(), key=lambda one: two_level_interval(list(one.values())).low, default=None)


def _family(bench: Bench, rows: Sequence[Row]) -> Family | None:
    """Intervals for all attacks of P1 together; the oracle is no adversary and is left out."""
    some = {row.name: row.samples for row in rows if row.applies and row.threat != "Tinf"}
    return family(some, bench.rng("family"), level=bench.how.level) if some else None


def _family_line(bench: Bench, rows: Sequence[Row], ours: Family | None) -> Report | None:
    return ours and {"attacks": len(ours.intervals), "level": bench.how.level, "critical": ours.critical}


def _control_lines(bench: Bench, controls: Mapping[str, Samples], headlines: Sequence[Row]) -> Report:
    lines = {name: _figure(bench, samples) for name, samples in controls.items()}
    if headlines:
        samples = list(headlines[0].samples.values())
        chance = permuted(samples, bench.rng("permutation"), bench.how.resamples, bench.how.level)
        lines["permutation"] = {**chance._asdict(), **_sizes(samples), "attack": headlines[0].attack}
    return lines


def _figure(bench: Bench, samples: Samples) -> Report:
    return two_level_interval(list(samples.values()), bench.how.level)._asdict() | _sizes(list(samples.values()))


def _sizes(samples: Sequence[Any]) -> Report:
    return {"n_members": sum(len(s.members) for s in samples), "n_nonmembers": sum(len(s.others) for s in samples)}


def _protections(bench: Bench) -> Report:
    strategy = bench.world.strategy
    paid = bench.folder.read_json("results.json").get("privacy") if bench.folder.finished else None
    return {
        "epsilon": paid and paid["epsilon"],
        "delta": paid and paid["delta"],
        "accountant": paid and paid["accountant"],
        "min_group": getattr(strategy.aggregation, "min_group", None),
        "stratified": getattr(strategy.sharing, "draw", "") == "stratified",
    }
