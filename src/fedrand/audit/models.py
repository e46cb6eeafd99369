"""The models that are attacked, and every attack's scores on them: the server's, the rebuilt clients', the true ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fedrand.audit.attacks import ScoreAttack, score_attacks
from fedrand.audit.bench import Bench
from fedrand.audit.ladder import rebuilt
from fedrand.audit.rows import Groups, Row, Sides, grouped, sampled
from fedrand.audit.scoring import Scored, Slot, scored
from fedrand.data.example import Example
from fedrand.params import Params, identical

REFERENCE: Slot = ("reference", "answer")
THREAT = {"server": "T0", "client": "T3", "oracle": "Tinf", "base": "control"}


@dataclass(frozen=True)
class Models:
    """Scores by model, then by client, or under "all" where all clients share one model. known: the rebuilt clients."""

    bench: Bench
    attacks: list[ScoreAttack]
    known: Mapping[str, Params]
    scores: Mapping[str, Mapping[str, Scored]] = field(default_factory=dict)

    def value(self, model: str, slot: Slot, client: str, example: Example, against=None) -> float:
        """One score; `against` compares it with the base model's."""
        of = self.scores[model]
        own = (of.get("all") or of[client]).of(slot, example.id)
        return against(own, self.scores["base"]["all"].of(slot, example.id)) if against else own

    def rows(self, units: Mapping[str, Mapping[str, Sides]]) -> Iterator[Row]:
        """Every attack on every model named in `units`, which says who is compared with whom."""
        for model, compared in units.items():
            groups = grouped(compared)
            for attack in self.attacks:
                if model == "base" and attack.against:
                    continue  # the base model against itself is 0 everywhere
                yield self._row(model, attack, compared, groups)

    def _row(self, model: str, attack: ScoreAttack, units: Mapping[str, Sides], groups: Groups) -> Row:
        slot = attack.name, attack.slice
        where = (THREAT[model], model, *slot)
        if attack.reason:
            return Row(*where, reason=attack.reason)
        samples = sampled(units, lambda client, e: self.value(model, slot, client, e, attack.against), groups)
        plain = None
        if attack.against is None and model != "base":
            plain = sampled(units, lambda client, e: self.value("base", slot, client, e), groups)
        return Row(*where, samples, plain, headline=slot == REFERENCE)

    def reference(self, model: str, client: str, example: Example) -> float:
        """The headline score."""
        attack = next(one for one in self.attacks if (one.name, one.slice) == REFERENCE)
        return self.value(model, REFERENCE, client, example, attack.against)


def attacked_models(bench: Bench) -> Models:
    """One forward pass and one decoding of each model over the examples it is attacked with."""
    sides = [e for some in bench.sides.values() for side in some for e in side]
    attacks = score_attacks(bench.table.k, bench.table.attacks, [*sides, *bench.shifted])
    steps = 2 + 2 * len(bench.views)
    scores: dict[str, dict[str, Scored]] = {"base": {}, "server": {}, "client": {}, "oracle": {}}
    for done, (model, params) in enumerate((("base", None), ("server", bench.final)), 1):
        scores[model]["all"] = scored(bench.world, bench.everyone, params, attacks)
        bench.progress.step("audit", done, steps, f"{model} model")
    known = {name: rebuilt(view).params for name, view in bench.views.items()}
    for done, (name, params) in enumerate(known.items()):
        shown, true = [*bench.own(name), *bench.dealt[name]], bench.true(name)
        scores["client"][name] = own = scored(bench.world, shown, params, attacks)
        scores["oracle"][name] = own if identical(true, params) else scored(bench.world, shown, true, attacks)
        bench.progress.step("audit", 4 + 2 * done, steps, name)
    return Models(bench, attacks, known, scores)
