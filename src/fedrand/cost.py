"""What a recipe will cost, from its configuration alone: operations, bytes that travel, memory, time. No weight is read."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fedrand.counting import Count
from fedrand.data.example import ImageSource
from fedrand.datasets import Dataset
from fedrand.dealing import ClientData
from fedrand.errors import InputError
from fedrand.federation import select_clients
from fedrand.lora import Adapter
from fedrand.models import Encoded, VisionLanguageModel
from fedrand.models.fast import at_once
from fedrand.models.features import Room, place, room, told
from fedrand.models.outline import outline
from fedrand.models.runtime import torch
from fedrand.plan import Shapes, amount
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.recipe import Recipe
from fedrand.strategy import Strategy, Turn, odds

SILENT = Progress()
COPIES = 4  # of the adapter beside itself and its gradient: AdamW's two moments, its temporary, the start of the round


# Between blocks of differing size the C library's heap keeps holes: 24% of what comes and goes, by benchmarks/openelm.py;
# none where MALLOC_MMAP_THRESHOLD_=262144 is set, which costs a tenth of the speed.
HOLES = 0.25


class Counted(NamedTuple):
    """Floating-point operations, bytes held all the time (weights, adapter), and the most bytes alive at once."""

    flops: int
    held: int
    peak: int

    @property
    def resident(self) -> int:
        """Bytes that the process needs for it."""
        return int(self.peak + HOLES * (self.peak - self.held))


@dataclass(frozen=True)
class Forecast:
    """parameters: of the whole model; adapter: numbers in it. step: of one training step on a batch like the data.
    steps: of the whole run. features: of all image features, once. traffic: bytes both ways, whole run. memory: bytes of
    weights, adapter, optimiser, image features and the costliest batch; Python and its libraries come on top.
    images_in_memory, images_on_disk: bytes of the image features, in `memory` and beside it."""

    parameters: int
    adapter: int
    step: int
    steps: int
    features: int
    traffic: float
    memory: int
    images_in_memory: int
    images_on_disk: int

    def seconds(self, rate: float) -> float:
        """Training and image features, at `rate` operations a second."""
        return (self.step * self.steps + self.features) / rate

    def __str__(self) -> str:
        return (
            f"estimate, nothing run: {self.parameters / 1e6:,.1f} M parameters, adapter {self.adapter:,}; "
            f"{self.step / 1e9:,.1f} GFLOP a step, {self.steps:,.0f} steps; "
            f"{self.traffic / 2**20:,.1f} MiB travel; {self.memory / 2**30:.1f} GiB of memory beside Python's own; "
            f"image features: {told(Room(self.images_in_memory, self.images_on_disk), place())}"
        )


def forecast(
    recipe: Recipe, dataset: Dataset, clients: Mapping[str, ClientData], progress: Progress = SILENT
) -> Forecast:
    """Count a recipe's run on this data. InputError when its model's configuration cannot be had, or counted."""
    model, train = recipe.model, recipe.train
    vlm = outline(model.name, revision=model.revision, dtype=model.dtype, progress=progress)
    members = [example for data in clients.values() for example in data.members]
    some = stream(recipe.seed, "forecast").permutation(len(members))[: train.batch_size]
    longest = np.argsort([len(vlm.encode(example)) for example in members], kind="stable")[-train.batch_size :]
    shown = {e.image.key: e.image for es in (members, *dataset.splits.values()) for e in es if e.image is not None}
    try:
        adapter = bare_adapter(vlm, recipe.adapter.rank, recipe.adapter.kind)
        typical, costliest = (
            step_cost(vlm, adapter, [vlm.encode(members[place]) for place in batch]) for batch in (some, longest)
        )
        image = image_cost(vlm, next(iter(shown.values()))) if shown else Counted(0, 0, 0)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        raise InputError(f"cannot count the costs of model '{model.name}' without its weights ({error})") from error
    width = vlm.model.config.get_text_config().hidden_size
    each = vlm.path.layout.image_tokens * width * vlm.dtype.itemsize if shown else 0
    kept = room(len(shown) * each, recipe.memory.image_features)
    return Forecast(
        parameters=sum(value.numel() for value in vlm.model.parameters()),
        adapter=adapter.flat.numel(),
        step=typical.flops,
        steps=steps(recipe, {name: len(data.members) for name, data in clients.items()}),
        features=image.flops * len(shown),
        traffic=traffic(recipe, adapter.shapes, list(clients)),
        memory=max(costliest.resident, image.resident) + COPIES * adapter.flat.nbytes + kept.memory,
        images_in_memory=kept.memory,
        images_on_disk=kept.disk,
    )


def steps(recipe: Recipe, members: Mapping[str, int]) -> int:
    """Training steps of the whole run, by the clients that the server will draw."""
    train = recipe.train
    each = {name: -(-count // train.batch_size) * train.epochs for name, count in members.items()}
    some = {name: min(one, train.max_steps or one) for name, one in each.items()}
    return sum(some[name] for names in drawn(recipe, list(members)) for name in names)


def drawn(recipe: Recipe, clients: Sequence[str]) -> list[tuple[str, ...]]:
    """The clients that the server will ask, round by round."""
    return [select_clients(clients, recipe.clients_per_round, r, recipe.seed) for r in range(recipe.train.rounds)]


def traffic(recipe: Recipe, shapes: Shapes, clients: Sequence[str]) -> float:
    """Bytes of tensors, down and up, expected over the clients' own draws."""
    strategy, last = recipe.method(), dict[str, int]()
    turns: Counter[Turn] = Counter()
    for round, names in enumerate(drawn(recipe, clients)):
        # Only whether a round is the first matters to a strategy, so turns alike are counted once.
        turns.update(Turn(min(round, 2), name not in last, last.get(name)) for name in names)
        last |= dict.fromkeys(names, min(round, 1))
    asked = recipe.clients_per_round
    return sum(count * _turn_bytes(strategy, shapes, turn, asked) for turn, count in turns.items())


def _turn_bytes(strategy: Strategy, shapes: Shapes, turn: Turn, asked: int) -> float:
    """What one client's turn sends both ways, on average over its draws and its place among those asked."""
    keys = frozenset(shapes)
    turns = odds(strategy.sharing, keys, replace(turn, of=asked))
    down = [(chance, strategy.held(keys) if strategy.download == "both" else one.needed) for chance, one in turns]
    up = [(chance, split.shared) for chance, split in turns]
    return sum(chance * amount(sent, shapes).bytes for chance, sent in (*down, *up))


def bare_adapter(vlm: VisionLanguageModel, rank: int, kind: str = "lora") -> Adapter:
    """An adapter on an outline."""
    with _mode(vlm):
        adapter = Adapter.attach(vlm, rank=rank, kind=kind)
        adapter.train_only(adapter.keys)
        return adapter


def step_cost(vlm: VisionLanguageModel, adapter: Adapter, batch: Sequence[Encoded]) -> Counted:
    """Forward and backward of one batch on an outline: padded to its longest, the head at the answers alone."""
    width, labels = max(map(len, batch)), sum(len(one) - one.answer_start for one in batch)
    with _mode(vlm), Count([*vlm.model.state_dict().values(), adapter.flat, adapter.grad]) as count:
        held = count.now
        embeds = vlm.path.more(torch.zeros(len(batch), width, dtype=torch.long))
        hidden = vlm.path.decode(embeds).flatten(0, 1).index_select(0, torch.zeros(labels, dtype=torch.long))
        targets = torch.zeros(labels, dtype=torch.long)
        torch.nn.functional.cross_entropy(vlm.head(hidden), targets).backward()
    return Counted(count.flops, held, count.peak)


def image_cost(vlm: VisionLanguageModel, image: ImageSource) -> Counted:
    """One image's features; the peak is that of a whole batch of them."""
    shape = vlm.processor.image_processor(images=[image.load()], return_tensors="pt")["pixel_values"].shape
    with _mode(vlm), Count(vlm.model.state_dict().values()) as count:
        held, batch = count.now, at_once(vlm.device)
        vlm.path.project(torch.zeros(batch, *shape[1:], dtype=vlm.dtype))
    return Counted(count.flops // batch, held, count.peak)


def measured_rate(dtype: torch.dtype = torch.float32, repeats: int = 3) -> float:
    """Operations a second of a matrix product with the threads torch has now: the best of `repeats`, in processor time,
    so that other programs on the machine do not count."""
    left, right = torch.ones(1024, 1536, dtype=dtype), torch.ones(1536, 2048, dtype=dtype)
    best = float("inf")
    for _ in range(repeats + 1):
        begun = time.process_time()
        left @ right
        best = min(best, time.process_time() - begun)
    return 2 * 1024 * 1536 * 2048 * torch.get_num_threads() / best


def _mode(vlm: VisionLanguageModel) -> AbstractContextManager[Any]:
    """In which an outline's tensors live; a model with weights needs none."""
    return getattr(vlm.model.get_input_embeddings().weight, "fake_mode", nullcontext())
