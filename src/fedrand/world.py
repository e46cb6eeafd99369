"""The world of a recipe: model, adapter, image features, and the data of every client, all from its one seed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedrand.data.canaries import planted
from fedrand.data.example import Example
from fedrand.datasets import Dataset, fingerprint, load_dataset
from fedrand.dealing import ClientData, deal, pooled
from fedrand.errors import InputError
from fedrand.federation import Federation
from fedrand.lora import Adapter
from fedrand.messages import ServerState
from fedrand.models import Encoded, ImageFeatures, VisionLanguageModel
from fedrand.models.runtime import torch
from fedrand.params import select
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.recipe import Recipe
from fedrand.resident import Resident
from fedrand.strategy import Strategy
from fedrand.train import LocalLearner, TrainSettings

__all__ = ["ClientData", "World", "build"]

SILENT = Progress()


@dataclass(frozen=True)
class World:
    """One resident model for all clients; `dataset` holds what models are measured on; `resident` is what the runs of this
    process share."""

    recipe: Recipe
    vlm: VisionLanguageModel
    adapter: Adapter
    features: ImageFeatures
    clients: Mapping[str, ClientData]
    dataset: Dataset
    resident: Resident = field(default_factory=Resident)

    @property
    def splits(self) -> Mapping[str, tuple[Example, ...]]:
        return self.dataset.splits

    @property
    def measured_on(self) -> Mapping[str, tuple[Example, ...]]:
        """The splits that the run's own evaluation takes."""
        spared = {"ood"} if self.recipe.evaluate.ood == "nobody" else set[str]()
        return {name: some for name, some in self.splits.items() if name not in spared}

    @property
    def questions(self) -> Mapping[str, tuple[Example, ...]]:
        return self.dataset.questions

    def encoded(self, examples: Iterable[Example], *, with_answer: bool = True) -> list[Encoded]:
        return [self.vlm.encode(example, with_answer=with_answer) for example in examples]

    def encodings(self, examples: Iterable[Example]) -> Iterator[Encoded]:
        """As `encoded`, one after the other: nothing is kept."""
        return map(self.vlm.encode, examples)

    def look(self, examples: Iterable[Example], progress: Progress = SILENT) -> None:
        """Compute what the model makes of their images, where it is not known yet; DataError names a broken image."""
        self.features.prepare((example.image for example in examples), progress)

    @property
    def used(self) -> Iterator[Example]:
        """What a run trains on or describes."""
        for some in (*(data.members for data in self.clients.values()), *self.measured_on.values()):
            yield from some

    def initial(self) -> ServerState:
        """Round 0: A_0 from the recipe's seed, B_0 = 0; of the factors only those that the server holds."""
        params = self.adapter.initial(stream(self.recipe.seed, "adapter"))
        return ServerState(0, select(params, self.strategy.held(frozenset(params))))

    @property
    def strategy(self) -> Strategy:
        return self.recipe.method()

    @property
    def clients_per_round(self) -> int:
        return self.recipe.clients_per_round

    def federation(self) -> Federation:
        train, settings = self.recipe.train, train_settings(self.recipe)
        learners = {
            name: LocalLearner(self.vlm, self.adapter, self.features, self.encoded(data.members), settings)
            for name, data in self.clients.items()
        }
        asked = self.clients_per_round
        return Federation(self.strategy, learners, asked, self.recipe.seed, min(train.min_clients, asked))

    def split(self) -> dict[str, Any]:
        """Who holds what, by id: the ground truth of a simulated run's audit."""
        clients = {
            name: {"members": [e.id for e in data.members], "held_out": [e.id for e in data.held_out]}
            for name, data in self.clients.items()
        }
        return {"seed": self.recipe.seed, "clients": clients}

    def identity(self) -> dict[str, dict[str, str]]:
        """What a resumed run must find again: base model and data, by fingerprint."""
        model, data = self.recipe.model, self.recipe.data
        return {
            "model": {"name": model.name, "revision": model.revision, "fingerprint": self.vlm.fingerprint()},
            "data": {"name": data.path or data.name, "fingerprint": fingerprint(self.dataset)},
        }


def train_settings(recipe: Recipe) -> TrainSettings:
    train = recipe.train
    return TrainSettings(train.lr, train.weight_decay, train.batch_size, train.epochs, train.max_steps)


def holdings(recipe: Recipe, dataset: Dataset) -> dict[str, ClientData]:
    """client -> its data, canaries and all. InputError when it cannot be dealt out like that, or holds fewer clients than
    a round asks."""
    clients, asked = deal(dataset.pool, recipe.data, recipe.seed), recipe.train.clients_per_round
    if asked > len(clients):
        raise InputError(
            f"train.clients_per_round is {asked}, but the data have {len(clients)} clients; choose from 1 to {len(clients)}"
        )
    if count := recipe.audit.canaries:
        clients = planted(clients, dataset.pool, count, recipe.seed, recipe.data.prompt or "coco")
    return pooled(clients) if recipe.method().pooled else clients


def build(
    recipe: Recipe, progress: Progress = SILENT, dataset: Dataset | None = None, resident: Resident | None = None
) -> World:
    """Everything a run or an audit of it needs. InputError when the model or the data cannot be used.

    dataset: the recipe's own, where it is loaded already. resident: what earlier runs left in memory; their worlds end here.
    """
    torch.set_num_threads(recipe.train.threads)
    dataset = dataset or load_dataset(recipe.data, recipe.seed, progress)
    clients, strategy = holdings(recipe, dataset), recipe.method()
    resident = resident or Resident()
    vlm, features = resident.model(recipe, progress)
    if vlm.path.slow:
        progress.say(f"{vlm.kind} runs its own forward pass: slower than the LLaVA family's path, same results")
    adapter = resident.attached(recipe, vlm)
    try:
        strategy.check(frozenset(adapter.keys))
    except ValueError as error:
        raise InputError(f"strategy: {error}") from error
    for example in dataset.shown:  # one that the model cannot take is refused before the first step
        vlm.encode(example)
    return World(recipe, vlm, adapter, features, clients, dataset, resident)
