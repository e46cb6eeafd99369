"""The first audit: a curious server (T3) and, to calibrate it, an oracle, against one run's transcript."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedrand.audit.attacks import score_attacks
from fedrand.audit.ladder import rebuilt
from fedrand.audit.protocols import BANNER, Settings, Sides, dealt, row
from fedrand.audit.scoring import Scored, scored
from fedrand.audit.transcript import oracle
from fedrand.audit.uploads import upload_scores
from fedrand.audit.verdict import NOT_TESTED, sentences
from fedrand.audit.views import seen_by
from fedrand.data.canaries import ordinary
from fedrand.data.example import Example
from fedrand.errors import InputError
from fedrand.params import Params, identical
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.runfolder import RunFolder
from fedrand.world import World

SILENT = Progress()
THREAT = {"server": "T3", "client": "T3", "oracle": "Tinf", "base": "control"}

Models = dict[str, dict[str, Scored]]  # model -> client (or "all") -> scores


def audit(run: Path, progress: Progress = SILENT) -> dict[str, Any]:
    """Attack a finished run; returns what audit.json holds. InputError when the run is not finished."""
    folder = RunFolder.open(run)
    if not folder.finished:
        raise InputError(f"{run} is not finished; go on with: fedrand resume {run}")
    from fedrand.world import build

    world = build(folder.recipe, progress)
    if {name: tuple(ids) for name, ids in folder.split().items()} != _dealt(world):
        raise InputError(f"{run}: the data are no longer those of the run; the audit would compare the wrong examples")
    found = attacked(world, folder, progress)
    folder.write_json("audit.json", found)
    return found


def attacked(world: World, folder: RunFolder, progress: Progress = SILENT) -> dict[str, Any]:
    """What audit.json holds, from a run's world and its folder; writes nothing."""
    return _Audit(world, folder, progress).report()


def _dealt(world: World) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {
        name: (tuple(e.id for e in data.members), tuple(e.id for e in data.held_out))
        for name, data in world.clients.items()
    }


class _Audit:
    def __init__(self, world: World, folder: RunFolder, progress: Progress) -> None:
        self.world, self.folder, self.progress = world, folder, progress
        self.table, self.seed = world.recipe.audit, world.recipe.seed
        self.oracle, self.final = oracle(folder.transcript), folder.server().params
        views = {name: seen_by("T3", folder.transcript, self.final, name) for name in world.clients}
        self.views = {name: view for name, view in views.items() if view.uploads()}
        self.how = Settings(self.table.bootstrap, self.table.level)
        # clients that never took part have no members
        self.sides = {name: Sides(*map(ordinary, world.clients[name])) for name in self.views}
        self.shifted = tuple(world.splits.get("ood", ()))
        self.dealt = dealt(self.shifted, tuple(self.views), stream(self.seed, "audit", "ood"))
        self.attacks = score_attacks(self.table.k, self.table.attacks, self.everyone)

    def report(self) -> dict[str, Any]:
        known = {name: rebuilt(view) for name, view in self.views.items()}
        models = self._models({name: one.params for name, one in known.items()})
        protocols: dict[str, Any] = {"P1": {"rows": [*self._rows(models, shifted=False), self._updates()]}}
        if self.shifted:
            protocols["P0"] = {"banner": BANNER, "rows": list(self._rows(models, shifted=True))}
        found = {"protocols": protocols, "not_tested": list(NOT_TESTED), "seed": self.seed}
        found["rebuilt"] = {name: {"stale_rounds": one.stale} for name, one in known.items()}
        found["absent"] = sorted(set(self.world.clients) - set(self.views))
        found["provenance"] = self.world.identity() | {"method": self.world.recipe.strategy.name}
        return found | {"verdict": sentences(found)}

    @property
    def everyone(self) -> list[Example]:
        """Every example that the server's model is attacked with."""
        return [e for sides in self.sides.values() for side in sides for e in side] + list(self.shifted)

    def _models(self, rebuilt: Mapping[str, Params]) -> Models:
        """Each attacked model's scores on the examples it is attacked with."""
        steps = 2 + 2 * len(self.views)
        models: Models = {"base": {"all": self._scored(self.everyone, None)}, "server": {}, "client": {}, "oracle": {}}
        self.progress.step("audit", 1, steps, "base model")
        models["server"]["all"] = self._scored(self.everyone, self.final)
        self.progress.step("audit", 2, steps, "server's model")
        for done, name in enumerate(self.views):
            shown, true = [*(e for side in self.sides[name] for e in side), *self.dealt[name]], self._true(name)
            models["client"][name] = own = self._scored(shown, rebuilt[name])
            models["oracle"][name] = own if identical(true, rebuilt[name]) else self._scored(shown, true)
            self.progress.step("audit", 4 + 2 * done, steps, name)
        return models

    def _scored(self, examples: Sequence[Example], params: Params | None) -> Scored:
        return scored(self.world, examples, params, self.attacks)

    def _rows(self, models: Models, *, shifted: bool):
        base = models["base"]["all"]
        for model, by_client in models.items():
            units = self._units(model, shifted)
            for attack in self.attacks:
                if model == "base" and attack.against:
                    continue  # the base model against itself is 0 everywhere
                where = {"threat": THREAT[model], "model": model, "attack": attack.name, "slice": attack.slice}
                if attack.reason:
                    yield {**where, "applies": False, "reason": attack.reason, "headline": False}
                    continue
                slot = attack.name, attack.slice

                def plain(name, example, slot=slot):
                    return base.values[slot][example.id]

                def score(name, example, slot=slot, by_client=by_client, against=attack.against):
                    own = (by_client.get("all") or by_client[name]).values[slot][example.id]
                    return against(own, base.values[slot][example.id]) if against else own

                rng = stream(self.seed, "audit", *slot)
                figures = row(units, score, None if attack.against else plain, rng, self.how)
                yield {**where, **figures, "headline": attack.name == "reference"}

    def _units(self, model: str, shifted: bool) -> Mapping[str, Sides]:
        """P1: each client's members and held-out half. P0: members and other kinds, all clients together where they
        share one model."""
        if not shifted:
            return self.sides
        if model in ("server", "base"):
            return {"all": Sides(tuple(e for sides in self.sides.values() for e in sides.members), self.shifted)}
        return {name: Sides(sides.members, self.dealt[name]) for name, sides in self.sides.items()}

    def _updates(self) -> dict[str, Any]:
        """Each client's newest upload against every example's own gradient."""
        view = seen_by("T3+", self.folder.transcript, self.final)
        examples = {name: [e for side in self.sides[name] for e in side] for name in self.views}
        found: dict[tuple[str, str], float] = {}
        exact = 0
        for name, (last,) in upload_scores(self.world, view, examples, self.progress, newest=1).items():
            exact += last.seen.fully_known
            values = last.values["gradient cosine"]
            if values.any():  # all zero where the half that was sent has no gradient at the best known start
                shown = zip(examples[name], values, strict=True)
                found |= {(name, example.id): float(value) for example, value in shown}
        units = {name: self.sides[name] for name in self.views if any(client == name for client, _ in found)}
        rng = stream(self.seed, "audit", "cosine")
        figures = row(units, lambda name, example: found[name, example.id], None, rng, self.how)
        where = {"threat": "T3", "model": "update", "attack": "gradient cosine", "slice": "last upload"}
        return {**where, **figures, "start_known": {"clients": exact, "of": len(self.views)}}

    def _true(self, client: str) -> Params:
        """The client's whole adapter after its last training."""
        return self.oracle.read(list(self.oracle.of("oracle", client))[-1])
