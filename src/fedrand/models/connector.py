"""The connector of a model put together from parts, trained once: the tower and the language model stay as they are."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from fedrand.data.example import Example
from fedrand.models.assembly import BATCH, fold_normalisation, normalisation, tower_features
from fedrand.models.encoding import Encoded
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.progress import Progress

F, Tensor, pad_sequence = torch.nn.functional, torch.Tensor, torch.nn.utils.rnn.pad_sequence
SILENT = Progress()


@dataclass(frozen=True)
class Settings:
    """AdamW for at most so many steps, its rate falling from `rate` to 0 in a line. Every so many, the loss on the
    held-back examples is asked, and training stops where it has not fallen `patience` times in a row. The best is kept."""

    steps: int = 60
    batch: int = 16
    rate: float = 6e-3
    every: int = 10
    patience: int = 2
    clip: float = 1.0


@dataclass(frozen=True)
class Lessons:
    """Encoded examples and their tower features [examples, tokens, 1280], normalised."""

    vlm: VisionLanguageModel
    encoded: Sequence[Encoded]
    features: Tensor

    def loss(self, chosen: Sequence[int]) -> tuple[Tensor, int]:
        """Sum over the answer tokens of the chosen examples, nats, and how many tokens that is."""
        encoded = [self.encoded[i] for i in chosen]
        ids = pad_sequence([torch.from_numpy(one.input_ids) for one in encoded], True, self.vlm.pad)
        labels = pad_sequence([torch.from_numpy(one.labels) for one in encoded], True, -100)[:, 1:]
        seen = self.vlm.model.model.multi_modal_projector(self.features[list(chosen)])
        embeds = self.vlm.path.more(ids).masked_scatter((ids == self.vlm.image_token)[..., None], seen)
        learnt = labels != -100
        hidden = self.vlm.path.decode(embeds)[:, :-1][learnt]
        return F.cross_entropy(self.vlm.head(hidden), labels[learnt], reduction="sum"), int(learnt.sum())

    @torch.no_grad()
    def mean_loss(self, batch: int) -> float:
        """Nats per answer token, over all."""
        places = range(len(self.encoded))
        parts = [self.loss(places[start : start + batch]) for start in range(0, len(places), batch)]
        return float(sum(loss for loss, _ in parts)) / sum(count for _, count in parts)


def train_connector(
    vlm: VisionLanguageModel,
    lessons: Sequence[Example],
    held_back: Sequence[Example],
    settings: Settings,
    rng: np.random.Generator,
    progress: Progress = SILENT,
) -> float:
    """Train the projector of an assembled model in place; the mean loss on `held_back`, nats per answer token."""
    drawn = [lessons[i] for i in rng.permutation(len(lessons))[: settings.steps * settings.batch]]
    raw = _looked_at(vlm, [*drawn, *held_back], progress)
    mean, std = normalisation(raw[: len(drawn)])
    features, encoded = (raw.float() - mean) / std, [vlm.encode(example) for example in (*drawn, *held_back)]
    taught = Lessons(vlm, encoded[: len(drawn)], features[: len(drawn)])
    asked = Lessons(vlm, encoded[len(drawn) :], features[len(drawn) :])
    projector = vlm.model.model.multi_modal_projector.requires_grad_(True)
    best, kept = _learn(projector, taught, asked, settings, progress)
    projector.load_state_dict(kept)
    projector.requires_grad_(False)
    fold_normalisation(vlm.model, mean, std)
    return best


def _learn(
    projector: torch.nn.Module, taught: Lessons, asked: Lessons, settings: Settings, progress: Progress
) -> tuple[float, dict[str, Tensor]]:
    """The lowest mean loss on what is asked, and the projector that had it."""
    optimizer = torch.optim.AdamW(projector.parameters())
    best, kept, waited = float("inf"), deepcopy(projector.state_dict()), 0
    starts = range(0, len(taught.encoded), settings.batch)
    for step, start in enumerate(starts, 1):
        rate = settings.rate * (1 - (step - 1) / len(starts))
        _step(optimizer, taught, range(len(taught.encoded))[start : start + settings.batch], rate, settings.clip)
        if step % settings.every == 0 or step == len(starts):
            now = asked.mean_loss(settings.batch)
            best, kept, waited = (now, deepcopy(projector.state_dict()), 0) if now < best else (best, kept, waited + 1)
        told = f"loss on held-back images {best:.2f}" if step >= settings.every else ""
        progress.step("connector", step, len(starts), told)
        if waited == settings.patience:
            break
    return best, kept


def _step(optimizer: torch.optim.AdamW, taught: Lessons, chosen: Sequence[int], rate: float, clip: float) -> None:
    (group,) = optimizer.param_groups
    group["lr"] = rate
    loss, count = taught.loss(chosen)
    optimizer.zero_grad()
    (loss / count).backward()
    torch.nn.utils.clip_grad_norm_(group["params"], clip)
    optimizer.step()


def _looked_at(vlm: VisionLanguageModel, examples: Sequence[Example], progress: Progress) -> Tensor:
    """The tower's features of each example's image."""
    tower, parts = vlm.model.model.vision_tower, []
    for start in progress.track(range(0, len(examples), BATCH), "image features"):
        images = [example.image.load() for example in examples[start : start + BATCH] if example.image is not None]
        parts.append(tower_features(tower, vlm.processor, images))
    return torch.cat(parts)
