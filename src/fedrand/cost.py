"""What a recipe will cost, from its configuration alone: operations, bytes that travel, memory, time. No weight is read."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from fedrand.counting import Count
from fedrand.data.example import ImageSource
from fedrand.datasets import load_dataset
from fedrand.dealing import deal
from fedrand.errors import InputError
from fedrand.lora import Adapter
from fedrand.models import Encoded, VisionLanguageModel
from fedrand.models.features import BATCH
from fedrand.models.outline import outline
from fedrand.models.runtime import torch
from fedrand.plan import plan
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.recipe import Recipe

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
    weights, adapter, optimiser, image features and the costliest batch; Python and its libraries come on top."""

    parameters: int
    adapter: int
    step: int
    steps: float
    features: int
    traffic: float
    memory: int

    def seconds(self, rate: float) -> float:
        """Training and image features, at `rate` operations a second."""
        return (self.step * self.steps + self.features) / rate

    def __str__(self) -> str:
        return (
            f"forecast: {self.parameters / 1e6:,.1f} M parameters, adapter {self.adapter:,}; "
            f"{self.step / 1e9:,.1f} GFLOP a step, {self.steps:,.0f} steps; "
            f"{self.traffic / 2**20:,.1f} MiB travel; {self.memory / 2**30:.1f} GiB of memory beside Python's own"
        )


def forecast(recipe: Recipe, progress: Progress = SILENT) -> Forecast:
    """Count a recipe's run. InputError when its data or its model's configuration cannot be had, or counted."""
    model, train = recipe.model, recipe.train
    dataset = load_dataset(recipe.data, recipe.seed, progress)
    clients = deal(dataset.pool, recipe.data, recipe.seed)
    vlm = outline(model.name, revision=model.revision, dtype=model.dtype)
    encoded = [vlm.encode(example) for data in clients.values() for example in data.members]
    some = stream(recipe.seed, "forecast").permutation(len(encoded))[: train.batch_size]
    longest = sorted(encoded, key=len)[-train.batch_size :]
    everything = (*dataset.pool, *(example for examples in dataset.splits.values() for example in examples))
    shown = {example.image.key: example.image for example in everything if example.image is not None}
    try:
        adapter = bare_adapter(vlm, recipe.adapter.rank)
        typical, costliest = (step_cost(vlm, adapter, batch) for batch in ([encoded[i] for i in some], longest))
        image = image_cost(vlm, next(iter(shown.values()))) if shown else Counted(0, 0, 0)
    except (RuntimeError, NotImplementedError, TypeError) as error:
        raise InputError(f"cannot count the costs of model '{model.name}' without its weights ({error})") from error
    kept = len(shown) * vlm.image_tokens * vlm.model.config.get_text_config().hidden_size * vlm.dtype.itemsize
    return Forecast(
        parameters=sum(value.numel() for value in vlm.model.parameters()),
        adapter=adapter.flat.numel(),
        step=typical.flops,
        steps=steps(recipe, [len(data.members) for data in clients.values()]),
        features=image.flops * len(shown),
        traffic=traffic(recipe, adapter),
        memory=max(costliest.resident, image.resident) + COPIES * adapter.flat.nbytes + kept,
    )


def steps(recipe: Recipe, members: Sequence[int]) -> float:
    """Training steps of the whole run, expected over which clients are drawn."""
    train = recipe.train
    each = [-(-count // train.batch_size) * train.epochs for count in members]
    mean = sum(min(one, train.max_steps or one) for one in each) / len(each)
    return mean * train.clients_per_round * train.rounds


def traffic(recipe: Recipe, adapter: Adapter) -> float:
    """Bytes of tensors, down and up, expected over the clients' draws."""
    strategy, train = recipe.strategy.build(), recipe.train
    up = sum(line.share * line.amount.bytes for line in plan(strategy, adapter.shapes) if line.what == "travels")
    down = 4 * adapter.flat.numel() if strategy.download == "both" else up
    return (up + down) * train.clients_per_round * train.rounds


def bare_adapter(vlm: VisionLanguageModel, rank: int) -> Adapter:
    """An adapter on an outline."""
    with _mode(vlm):
        adapter = Adapter.attach(vlm, rank=rank)
        adapter.train_only(adapter.keys)
        return adapter


def step_cost(vlm: VisionLanguageModel, adapter: Adapter, batch: Sequence[Encoded]) -> Counted:
    """Forward and backward of one batch on an outline: padded to its longest, the head at the answers alone."""
    width, labels = max(map(len, batch)), sum(len(one) - one.answer_start for one in batch)
    with _mode(vlm), Count([*vlm.model.state_dict().values(), adapter.flat, adapter.grad]) as count:
        held = count.now
        embeds = vlm.embed(torch.zeros(len(batch), width, dtype=torch.long), [])
        hidden = vlm.decode(embeds).flatten(0, 1).index_select(0, torch.zeros(labels, dtype=torch.long))
        targets = torch.zeros(labels, dtype=torch.long)
        torch.nn.functional.cross_entropy(vlm.head(hidden), targets).backward()
    return Counted(count.flops, held, count.peak)


def image_cost(vlm: VisionLanguageModel, image: ImageSource) -> Counted:
    """One image's features; the peak is that of a whole batch of them."""
    shape = vlm.processor.image_processor(images=[image.load()], return_tensors="pt")["pixel_values"].shape
    with _mode(vlm), Count(vlm.model.state_dict().values()) as count:
        held = count.now
        vlm.project(torch.zeros(BATCH, *shape[1:], dtype=vlm.dtype))
    return Counted(count.flops // BATCH, held, count.peak)


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
