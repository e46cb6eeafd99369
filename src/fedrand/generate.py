"""Greedy decoding in batches, with a KV cache: prompts of equal length together, so that nothing needs padding."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrand.batch import collate, equal_lengths
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.score import renyi

Ids = NDArray[np.int64]
Values = NDArray[np.float64]
Measure = Callable[[torch.Tensor], Values]


@dataclass(frozen=True)
class Description:
    """ids [T] of what a model said. renyi [4, steps]: Renyi entropies (score.ALPHAS) of the distribution that each step
    chose from; a step per token, and one more where the model ended the text itself."""

    ids: Ids
    renyi: Values


def captions(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    prompts: Sequence[Encoded],
    max_new_tokens: int = 32,
    batch_size: int = 64,
) -> list[str]:
    """What the model says to each prompt (encoded without answer), in the order given, without special tokens."""
    found = generate_ids(vlm, features, prompts, max_new_tokens, batch_size)
    return [vlm.tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in found]


def generate_ids(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    prompts: Sequence[Encoded],
    max_new_tokens: int = 32,
    batch_size: int = 64,
) -> list[Ids]:
    """The most likely next token, again and again, up to the end of text (not included) or the model's limit.

    Never an image token or padding: they are taken out of the choice.
    """
    return [said.ids for said in _all(vlm, features, prompts, max_new_tokens, batch_size, None)]


def descriptions(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    prompts: Sequence[Encoded],
    max_new_tokens: int = 32,
    batch_size: int = 64,
    clamp: float = 0.0,
) -> list[Description]:
    """`generate_ids` with the entropies of every step, whose logits are there anyway; clamp: as in `score.renyi`."""
    return _all(vlm, features, prompts, max_new_tokens, batch_size, lambda logits: renyi(logits, clamp))


def _all(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    prompts: Sequence[Encoded],
    bound: int,
    batch_size: int,
    measure: Measure | None,
) -> list[Description]:
    found: dict[int, Description] = {}
    for indices in equal_lengths(prompts, batch_size):
        some = [prompts[i] for i in indices]
        found |= dict(zip(indices, _greedy(vlm, features, some, bound, measure), strict=True))
    return [found[i] for i in range(len(prompts))]


@torch.no_grad()
def _greedy(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    prompts: Sequence[Encoded],
    bound: int,
    measure: Measure | None,
) -> list[Description]:
    inputs = collate(vlm, features, prompts).inputs
    bound = min(bound, vlm.max_length - len(prompts[0]))
    said: list[list[int]] = [[] for _ in prompts]
    seen: list[list[Values]] = [[np.zeros((4, 0))] for _ in prompts]
    running, state = list(range(len(prompts))), None
    for _ in range(bound):
        hidden, state = vlm.path.decode_on(inputs, state)
        logits = vlm.head(hidden[:, -1])
        if measure:
            for row, entropies in zip(running, np.split(measure(logits), len(running), 1), strict=True):
                seen[row].append(entropies)
        chosen = _choose(vlm, logits)
        kept = [row for row, token in enumerate(chosen.tolist()) if token not in vlm.ends]
        for row in kept:
            said[running[row]].append(int(chosen[row]))
        if not kept:
            break
        running = [running[row] for row in kept]
        if len(kept) < len(chosen):
            chosen = chosen[kept]
            state = vlm.path.select(state, torch.tensor(kept, device=chosen.device))
        inputs = vlm.path.more(chosen[:, None])
    return [Description(np.array(ids, np.int64), np.concatenate(own, 1)) for ids, own in zip(said, seen, strict=True)]


def _choose(vlm: VisionLanguageModel, logits: torch.Tensor) -> torch.Tensor:
    """The most likely token of logits [rows, V], which lose what must never be said."""
    logits[:, [token for token in vlm.never_said if token < logits.shape[-1]]] = -torch.inf
    return logits.argmax(-1)
