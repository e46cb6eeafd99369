"""Encoded examples side by side: padded on the right, and where the logits of their answers come from."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel


class Batch(NamedTuple):
    """inputs: what the model's path takes of B texts of T tokens; `places` [N] index the B * T positions whose next token
    is an answer token, in the order of the examples; `targets` [N] are those tokens; `counts` [B] says how many each
    example has."""

    inputs: Any
    places: torch.Tensor
    targets: torch.Tensor
    counts: tuple[int, ...]


def collate(vlm: VisionLanguageModel, features: ImageFeatures, encoded: Sequence[Encoded]) -> Batch:
    """One batch of examples, with or without image, with or without answer."""
    width = max(map(len, encoded))
    ids = np.full((len(encoded), width), vlm.pad, np.int64)
    for row, one in zip(ids, encoded, strict=True):
        row[: len(one)] = one.input_ids
    places = [np.arange(i * width + e.answer_start - 1, i * width + len(e) - 1) for i, e in enumerate(encoded)]
    targets = [one.input_ids[one.answer_start :] for one in encoded]
    seen = features([one.image for one in encoded if one.image is not None])
    return Batch(
        vlm.path.inputs(torch.from_numpy(ids).to(vlm.device), encoded, seen),
        torch.from_numpy(np.concatenate(places)).to(vlm.device),
        torch.from_numpy(np.concatenate(targets)).to(vlm.device),
        tuple(len(target) for target in targets),
    )


def answer_hidden(vlm: VisionLanguageModel, batch: Batch) -> torch.Tensor:
    """Hidden states [N, H] at the answers' positions: the only ones the head is run on."""
    hidden = vlm.path.decode(batch.inputs)
    return hidden.view(-1, hidden.shape[-1]).index_select(0, batch.places)


def equal_lengths(prompts: Sequence[Encoded], batch_size: int) -> Iterator[list[int]]:
    """Indices of prompts in batches of one length, which need no padding before what is said next."""
    groups: dict[int, list[int]] = {}
    for index, prompt in enumerate(prompts):
        groups.setdefault(len(prompt), []).append(index)
    for group in groups.values():
        yield from (group[start : start + batch_size] for start in range(0, len(group), batch_size))
