"""What an audit works on: a finished run's world, its adversaries' views, and who is compared with whom."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedrand.audit.knowledge import Told, history
from fedrand.audit.ladder import truth
from fedrand.audit.rows import Settings, Sides
from fedrand.audit.transcript import Index, transcript
from fedrand.audit.views import View, seen_by
from fedrand.data.canaries import canaries_of, ordinary
from fedrand.data.example import Example
from fedrand.datasets import some
from fedrand.messages import ServerState
from fedrand.params import Params
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.runfolder import RunFolder
from fedrand.settings import AuditTable
from fedrand.world import World

Examples = tuple[Example, ...]


@dataclass(frozen=True)
class Bench:
    world: World
    folder: RunFolder
    progress: Progress

    @property
    def table(self) -> AuditTable:
        return self.world.recipe.audit

    @property
    def how(self) -> Settings:
        return Settings(self.table.bootstrap, self.table.level)

    @cached_property
    def server(self) -> ServerState:
        return self.folder.server()

    @property
    def final(self) -> Params:
        return self.server.params

    @cached_property
    def index(self) -> Index:
        """The auditor's own transcript."""
        return transcript(self.folder.transcript)

    def rng(self, *name: str) -> np.random.Generator:
        return stream(self.world.recipe.seed, "audit", *name)

    def view(self, threat: str, client: str = "") -> View:
        return seen_by(threat, self.folder.transcript, self.final, client)

    @cached_property
    def oracle(self) -> View:
        return self.view("Tinf")

    @cached_property
    def tapped(self) -> View:
        """The eavesdropper's, who reads every broadcast."""
        return self.view("T1")

    @cached_property
    def asked(self) -> frozenset[str]:
        """The clients that took part in a round, whatever became of what they sent."""
        return frozenset(name for line in self.folder.metrics() for name in line["selected"])

    @cached_property
    def views(self) -> Mapping[str, View]:
        """The curious server on each client that it took an upload of."""
        every = {name: self.view("T3", name) for name in self.world.clients}
        return {name: view for name, view in every.items() if view.uploads()}

    @cached_property
    def histories(self) -> Mapping[str, Sequence[Told]]:
        strategy = self.world.strategy
        return {name: [seen.told() for seen in history(view, name, strategy)] for name, view in self.views.items()}

    @cached_property
    def sides(self) -> Mapping[str, Sides]:
        """Each client's members and its held-out half, which was never trained on."""
        share = -(-self.table.sample // max(1, len(self.views)))
        return {
            name: Sides(*(self._few(ordinary(half), share, name) for half in self.world.clients[name]))
            for name in self.views
        }

    @cached_property
    def canaries(self) -> Mapping[str, Sides]:
        """Each client's canaries: put in by the coin, and kept out."""
        return {name: Sides(*map(canaries_of, self.world.clients[name])) for name in self.views}

    @cached_property
    def shifted(self) -> Examples:
        """Images of kinds that no client holds."""
        return self._few(tuple(self.world.splits.get("ood", ())), self.table.sample, "ood")

    @cached_property
    def dealt(self) -> Mapping[str, Examples]:
        """The shifted images shared out by whole groups: were all clients compared with the same ones, an interval that
        draws them anew for each would be too narrow."""
        groups, units = sorted({example.unit for example in self.shifted}), tuple(self.views)
        order = self.rng("ood").permutation(len(groups))
        owner = {groups[place]: units[turn % len(units)] for turn, place in enumerate(order)} if units else {}
        return {name: tuple(e for e in self.shifted if owner[e.unit] == name) for name in units}

    def _few(self, examples: Examples, count: int, name: str) -> Examples:
        """About `count` of them, by whole groups; all for 0."""
        return some(examples, count, self.rng("sample", name)) if count and examples else examples

    def own(self, client: str) -> Examples:
        """Everything that attacks on one client's model or uploads are asked about."""
        return tuple(e for some in (self.sides[client], self.canaries[client]) for side in some for e in side)

    @property
    def everyone(self) -> Examples:
        """All examples that a model shared by all clients is attacked with."""
        sides, canaries = (
            [e for some in of.values() for side in some for e in side] for of in (self.sides, self.canaries)
        )
        return (*sides, *canaries, *self.shifted)

    def strangers(self, client: str) -> Examples:
        """Other clients' members, about as many as the client's own, by whole groups (P2)."""
        rest = [e for name, sides in self.sides.items() if name != client for e in sides.members]
        sizes = Counter(example.unit for example in rest)
        groups = sorted(sizes.keys() - {e.unit for e in self.sides[client].members})
        drawn = self.rng("strangers", client).permutation(len(groups))
        kept: dict[str, None] = {}
        size = 0
        for place in drawn:
            if size >= len(self.sides[client].members):
                break
            kept[groups[place]] = None
            size += sizes[groups[place]]
        return tuple(e for e in rest if e.unit in kept)

    def true(self, client: str) -> Params:
        """The client's whole adapter after its last training, which only calibration may see."""
        return truth(self.oracle, client)
