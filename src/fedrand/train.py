"""Local training: AdamW on the adapter's bank, loss over the answer tokens of each batch (paper, decisions 5 and 6)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedrand.batch import answer_hidden, collate
from fedrand.lora import Adapter
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.params import Keys, Params
from fedrand.round import ClientError, Trained


@dataclass(frozen=True)
class TrainSettings:
    """The paper's. Constant rate, fresh AdamW state each round, no dropout. max_steps: bound per round, 0 for none."""

    lr: float = 3e-4
    weight_decay: float = 1e-6
    batch_size: int = 8
    epochs: int = 1
    max_steps: int = 0


def order(count: int, settings: TrainSettings, rng: np.random.Generator) -> Iterator[list[int]]:
    """Batches of indices: each epoch shuffled anew, T = ceil(count / batch_size) steps, the last batch may be short."""
    size = settings.batch_size
    steps = math.ceil(count / size) * settings.epochs
    bound = min(steps, settings.max_steps or steps)
    epochs = (rng.permutation(count).tolist() for _ in range(settings.epochs))
    batches = (epoch[start : start + size] for epoch in epochs for start in range(0, count, size))
    yield from (batch for _, batch in zip(range(bound), batches, strict=False))


def train(
    vlm: VisionLanguageModel,
    adapter: Adapter,
    features: ImageFeatures,
    encoded: Sequence[Encoded],
    start: Params,
    trained: Keys,
    settings: TrainSettings,
    rng: np.random.Generator,
    proximal: float = 0.0,
) -> Trained:
    """Train the keys in `trained` from `start`; every other tensor keeps its bits.

    proximal: FedProx's mu, which adds mu/2 ||w - start||^2 over the trained keys. ClientError when there is nothing to
    train on, the loss breaks or no gradient arrives.
    """
    if not encoded:
        raise ClientError("no example to train on")
    adapter.load(start)
    spans = adapter.train_only(trained)
    begin = adapter.flat.clone()
    optimiser = _optimiser(adapter, spans, settings)
    losses: list[float] = []
    for batch in order(len(encoded), settings, rng):
        losses.append(_gradient(vlm, adapter, features, [encoded[i] for i in batch], step=len(losses)))
        if proximal:
            adapter.grad.add_(adapter.flat - begin, alpha=proximal)
        optimiser.step()
    figures = {
        "loss_first": losses[0],
        "loss_last": losses[-1],
        "loss_mean": float(np.mean(losses)),
        "update_norm": float((adapter.flat - begin).double().norm()),
    }
    return Trained(adapter.read(), len(encoded), len(losses), figures)


def _optimiser(adapter: Adapter, spans: Sequence[slice], settings: TrainSettings) -> torch.optim.AdamW:
    """AdamW straight on the slices of the bank: a step is a few long vector operations, not hundreds of short ones."""
    slices = [torch.nn.Parameter(adapter.flat[span]) for span in spans]
    for parameter, span in zip(slices, spans, strict=True):
        parameter.grad = adapter.grad[span]
    return torch.optim.AdamW(
        slices, lr=settings.lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=settings.weight_decay, foreach=False
    )


def _gradient(
    vlm: VisionLanguageModel, adapter: Adapter, features: ImageFeatures, encoded: Sequence[Encoded], step: int
) -> float:
    """Fill adapter.grad with the gradient of the batch's loss; returns the loss, nats per answer token."""
    batch = collate(vlm, features, encoded)
    loss = torch.nn.functional.cross_entropy(vlm.head(answer_hidden(vlm, batch)), batch.targets)
    value = loss.item()
    if not math.isfinite(value):
        cause = "lower train.lr" if step else "the adapter it began with is broken: lower train.lr or privacy.noise"
        raise ClientError(f"the loss is {value} at step {step + 1}; {cause}")
    adapter.grad.zero_()
    if loss.requires_grad:
        loss.backward()
    if step == 0 and not adapter.grad.any():
        raise ClientError("the first step's gradient is zero: the loss reaches none of the tensors to be trained")
    return value


class LocalLearner:
    """fedrand.round.Learner on one resident model: the adapter is swapped in for each client's round."""

    def __init__(
        self,
        vlm: VisionLanguageModel,
        adapter: Adapter,
        features: ImageFeatures,
        encoded: Sequence[Encoded],
        settings: TrainSettings,
    ) -> None:
        self.vlm, self.adapter, self.features = vlm, adapter, features
        self.encoded, self.settings = tuple(encoded), settings

    def initial(self, rng: np.random.Generator) -> Params:
        """A random, B zero."""
        return self.adapter.initial(rng)

    def train(self, start: Params, trained: Keys, rng: np.random.Generator, proximal: float) -> Trained:
        """Local training on this client's examples."""
        return train(self.vlm, self.adapter, self.features, self.encoded, start, trained, self.settings, rng, proximal)
