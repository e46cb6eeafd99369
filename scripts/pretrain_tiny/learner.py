"""Pre-training of projector and Llama on cached, frozen image features: one plain loop."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from lessons import Lesson, Teacher
from torch import Tensor, nn
from transformers import FastVlmForConditionalGeneration

from fedrand.data import Example
from fedrand.models.assembly import normalisation
from fedrand.models.encoding import Encoded, Encoder


@dataclass(frozen=True)
class Settings:
    """AdamW with a short warm-up and a cosine to 1% of `rate`, of `rate` times `first` for the projector's first layer, which
    starts where `ridge` puts it (first_layer.py) and has no decay; `average`: decay of the weights' running mean, which is
    what is kept (0: the last weights). token_drop hides answer tokens from the input, feature_drop image features,
    hidden_drop what attention and MLP add to the residual stream."""

    steps: int = 900
    batch: int = 32
    rate: float = 3e-3
    first: float = 0.1
    ridge: float = 3300.0
    weight_decay: float = 0.2
    token_drop: float = 0.1
    feature_drop: float = 0.2
    hidden_drop: float = 0.2
    smoothing: float = 0.1
    average: float = 0.99
    warmup: float = 0.05
    clip: float = 1.0


class Learner:
    """A model in training. The tower stays in eval mode and is not even run: its features come ready.

    features: raw tower features [images, views, 9, 1280], in the order of `examples`; `mean` and `std` [1280]
    normalise them, and `fold_normalisation` later hides that in the projector.
    """

    def __init__(
        self,
        model: FastVlmForConditionalGeneration,
        encoder: Encoder,
        features: Tensor,
        settings: Settings,
        seed: int,
    ) -> None:
        self.model, self.encoder, self.features, self.settings = model, encoder, features, settings
        self.mean, self.std = normalisation(features[:, 0])
        self.rng, self.noise = random.Random(seed), torch.Generator().manual_seed(seed)
        self.llama, self.projector = model.model.language_model, model.model.multi_modal_projector

    def pooled(self) -> Tensor:
        """Normalised features, the mean over an image's tokens: [images, views, 1280]."""
        return (self.features.float().mean(2) - self.mean) / self.std

    def run(self, teacher: Teacher, examples: Sequence[Example]) -> Iterator[float]:
        """Train; yields the loss of each step, nats per answer token. The weights are final when it is exhausted."""
        weights = [p for module in (self.llama, self.projector) for p in module.parameters()]
        optimizer = torch.optim.AdamW(self._groups(), betas=(0.9, 0.98))
        rates = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: schedule(step / self.settings.steps, self.settings.warmup)
        )
        mean = [p.detach().clone() for p in weights]
        hooks = [m.register_forward_hook(self._dropped) for m in self._residual_writers()]
        order: list[int] = []
        for step in range(self.settings.steps):
            chosen = [self._next(order, len(examples)) for _ in range(self.settings.batch)]
            loss = self._loss([teacher.lesson(examples[i]) for i in chosen], chosen)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, self.settings.clip)
            optimizer.step()
            rates.step()
            keep = min(self.settings.average, (1 + step) / (10 + step))
            torch._foreach_lerp_(mean, [p.detach() for p in weights], 1 - keep)
            yield loss.item()
        for hook in hooks:
            hook.remove()
        with torch.no_grad():
            torch._foreach_copy_(weights, mean)

    def _groups(self) -> list[dict]:
        """Parameter groups: matrices decay, biases and norms do not, nor does the projector's first layer, which is slow."""
        rate, first = self.settings.rate, list(self.projector.linear_1.parameters())
        rest = [*self.llama.parameters(), *self.projector.linear_2.parameters()]
        matrices, vectors = ([p for p in rest if (p.ndim > 1) == is_matrix] for is_matrix in (True, False))
        return [
            {"params": matrices, "lr": rate, "weight_decay": self.settings.weight_decay},
            {"params": vectors, "lr": rate, "weight_decay": 0.0},
            {"params": first, "lr": rate * self.settings.first, "weight_decay": 0.0},
        ]

    def _next(self, order: list[int], count: int) -> int:
        if not order:
            order.extend(range(count))
            self.rng.shuffle(order)
        return order.pop()

    def _loss(self, lessons: Sequence[Lesson], chosen: Sequence[int]) -> Tensor:
        """Mean over the answer tokens of the batch; long and short texts run apart, so that little is padding."""
        encoded = [self.encoder.encode(lesson.example, lesson.with_image) for lesson in lessons]
        drawn = sorted(zip(encoded, chosen, strict=True), key=lambda pair: len(pair[0]))
        cut = max(range(len(drawn)), key=lambda i: i * (len(drawn[-1][0]) - len(drawn[i - 1][0])))
        parts = [self._logits(part) for part in (drawn[:cut], drawn[cut:]) if part]
        logits, targets = (torch.cat(values) for values in zip(*parts, strict=True))
        return nn.functional.cross_entropy(logits, targets, label_smoothing=self.settings.smoothing)

    def _logits(self, drawn: Sequence[tuple[Encoded, int]]) -> tuple[Tensor, Tensor]:
        """Logits [N, V] and targets [N] at the answer tokens of encoded texts about drawings."""
        ids, labels = padded([text for text, _ in drawn])
        embeds = self.llama.embed_tokens(ids)
        hidden_from_input = (labels != -100) & (self._uniform(ids.shape) < self.settings.token_drop)
        embeds = embeds.masked_fill(hidden_from_input.unsqueeze(-1), 0.0)
        if seen := [drawing for text, drawing in drawn if text.image is not None]:
            tokens = self.projector(self._view(seen)).flatten(0, 1)
            embeds = embeds.masked_scatter((ids == self.encoder.layout.image_token).unsqueeze(-1), tokens)
        hidden = self.llama(inputs_embeds=embeds, use_cache=False).last_hidden_state
        answer = labels[:, 1:] != -100
        return self.model.lm_head(hidden[:, :-1][answer]), labels[:, 1:][answer]

    def _view(self, images: Sequence[int]) -> Tensor:
        """A random view of each image's features, normalised, elements dropped: [images, 9, 1280]."""
        views = [self.rng.randrange(self.features.shape[1]) for _ in images]
        features = (self.features[list(images), views].float() - self.mean) / self.std
        return self._drop(features, self.settings.feature_drop)

    def _residual_writers(self) -> list[nn.Module]:
        return [module for layer in self.llama.layers for module in (layer.self_attn.o_proj, layer.mlp.down_proj)]

    def _dropped(self, module: nn.Module, arguments: tuple, output: Tensor) -> Tensor:
        return self._drop(output, self.settings.hidden_drop)

    def _drop(self, values: Tensor, share: float) -> Tensor:
        return values * (self._uniform(values.shape) >= share) / (1 - share)

    def _uniform(self, shape: torch.Size) -> Tensor:
        return torch.rand(shape, generator=self.noise)


def schedule(progress: float, warmup: float) -> float:
    """Linear up to 1 over `warmup`, then a cosine down to .01; progress in [0, 1]."""
    if progress < warmup:
        return max(0.01, progress / warmup)
    return max(0.01, 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup))))


def padded(encoded: Sequence[Encoded]) -> tuple[Tensor, Tensor]:
    """ids and labels [batch, longest], padded on the right with 0 and -100; causal attention needs no mask then."""
    width = max(map(len, encoded))
    ids, labels = torch.zeros(len(encoded), width, dtype=torch.long), torch.full((len(encoded), width), -100)
    for row, one in enumerate(encoded):
        ids[row, : len(one)] = torch.from_numpy(one.input_ids)
        labels[row, : len(one)] = torch.from_numpy(one.labels)
    return ids, labels
