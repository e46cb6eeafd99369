"""Multiple choice by likelihood: every choice scored as the answer, its question run only once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedrand.batch import collate, equal_lengths
from fedrand.data.example import Example
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel

Values = NDArray[np.float64]


@dataclass(frozen=True)
class ChoiceScores:
    """One question. raw: log-likelihood of each choice as the answer, end of text included, nats; pmi: what the image
    adds to it (raw minus the same without the image), which takes out how likely a name is by itself."""

    id: str
    raw: Values
    pmi: Values


def choice_scores(
    vlm: VisionLanguageModel, features: ImageFeatures, examples: Sequence[Example], batch_size: int = 64
) -> list[ChoiceScores]:
    """Every choice of every question, with the image and without, in the order given."""
    seen, blind = (_likelihoods(vlm, features, examples, batch_size, with_image) for with_image in (True, False))
    return [
        ChoiceScores(example.id, raw, raw - alone) for example, raw, alone in zip(examples, seen, blind, strict=True)
    ]


def _likelihoods(
    vlm: VisionLanguageModel, features: ImageFeatures, examples: Sequence[Example], batch_size: int, with_image: bool
) -> list[Values]:
    prompts = [vlm.encode(example, with_image=with_image, with_answer=False) for example in examples]
    found: dict[int, Values] = {}
    for indices in equal_lengths(prompts, batch_size):
        answers = [
            [vlm.encode(replace(examples[i], answer=choice), with_image=with_image) for choice in examples[i].choices]
            for i in indices
        ]
        scores = _batch_likelihoods(vlm, features, [prompts[i] for i in indices], answers)
        found |= dict(zip(indices, scores, strict=True))
    return [found[i] for i in range(len(examples))]


@torch.no_grad()
def _batch_likelihoods(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    prompts: Sequence[Encoded],
    answers: Sequence[Sequence[Encoded]],
) -> list[Values]:
    """Prompts of one length, and for each its choices encoded whole: [choices] per prompt."""
    hidden, state = vlm.path.decode_on(collate(vlm, features, prompts).inputs)
    owner = torch.tensor([i for i, choices in enumerate(answers) for _ in choices], device=vlm.device)
    texts = [one.input_ids[one.answer_start :] for choices in answers for one in choices]
    width = max(map(len, texts))
    tokens = torch.full((len(texts), width), vlm.pad)
    for row, text in zip(tokens, texts, strict=True):
        row[: len(text)] = torch.from_numpy(text)
    tokens = tokens.to(vlm.device)
    after, _ = vlm.path.decode_on(vlm.path.more(tokens[:, :-1]), vlm.path.select(state, owner))
    states = torch.cat([hidden[owner, -1:], after], 1)  # the state before each token of the answer
    real = torch.arange(width, device=vlm.device) < torch.tensor([[len(text)] for text in texts], device=vlm.device)
    logp = torch.log_softmax(vlm.head(states[real]), -1).gather(-1, tokens[real][:, None])[:, 0].double()
    totals = torch.zeros(len(texts), dtype=torch.float64, device=vlm.device)
    totals.index_add_(0, real.nonzero()[:, 0], logp)
    return np.split(totals.cpu().numpy(), np.cumsum([len(choices) for choices in answers])[:-1])
