"""Greedy decoding in batches, with a KV cache: prompts of equal length together, so that nothing needs padding."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedrand.batch import collate, equal_lengths
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel

Ids = NDArray[np.int64]


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
    found: dict[int, Ids] = {}
    for indices in equal_lengths(prompts, batch_size):
        some = [prompts[i] for i in indices]
        found |= dict(zip(indices, _greedy(vlm, features, some, max_new_tokens), strict=True))
    return [found[i] for i in range(len(prompts))]


@torch.no_grad()
def _greedy(vlm: VisionLanguageModel, features: ImageFeatures, prompts: Sequence[Encoded], bound: int) -> list[Ids]:
    inputs = collate(vlm, features, prompts).inputs
    bound = min(bound, vlm.max_length - len(prompts[0]))
    said: list[list[int]] = [[] for _ in prompts]
    running, state = list(range(len(prompts))), None
    for _ in range(bound):
        hidden, state = vlm.path.decode_on(inputs, state)
        chosen = _choose(vlm, hidden[:, -1])
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
    return [np.array(tokens, np.int64) for tokens in said]


def _choose(vlm: VisionLanguageModel, hidden: torch.Tensor) -> torch.Tensor:
    logits = vlm.head(hidden)
    logits[:, [token for token in vlm.never_said if token < logits.shape[-1]]] = -torch.inf
    return logits.argmax(-1)
