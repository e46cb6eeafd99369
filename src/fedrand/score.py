"""What a model thinks of each token of an answer: likelihoods and Renyi entropies from one forward pass.

Everything the model-score attacks need (Min-K%, Min-K%++, MaxRenyi-K%, reference difference) and the losses of the
evaluation. Scores are of whatever adapter is attached; `with adapter.off():` gives the base model's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrand.batch import Batch, collate
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel

ALPHAS = (0.5, 1.0, 2.0, float("inf"))
CELLS = 2**24  # logits held at once, 64 MB in float32
NEVER = -1e4  # stands for log 0: its probability is 0 in every float type, and 0 times it is 0

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Distributions:
    """Of N next-token distributions p with outcomes y, nats: log p(y); mean and variance of log p under p; Renyi
    entropies [4, N] of order 1/2, 1, 2, infinity (exact, no clamp); the largest log p."""

    logp: Values
    mean_logp: Values
    var_logp: Values
    renyi: Values
    max_logp: Values


@dataclass(frozen=True)
class TokenScores(Distributions):
    """One example, over its answer tokens and the end of text. image: Renyi entropies [4, image tokens] of what is
    predicted at each image position (the last one predicts the first token after the image), where asked for."""

    id: str
    image: Values | None = None

    @property
    def loss(self) -> float:
        """Mean negative log-likelihood per token, nats."""
        return -float(self.logp.mean())


@torch.no_grad()
def distributions(logits: torch.Tensor, targets: torch.Tensor) -> Distributions:
    """From logits [N, V] and outcomes [N]."""
    logp = torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), -1)
    p, finite = logp.exp(), logp.clamp_min(NEVER)
    mean = (p * finite).sum(-1)
    entropies = (2 * torch.logsumexp(finite / 2, -1), -mean, -torch.logsumexp(2 * finite, -1), -finite.amax(-1))
    return Distributions(
        _values(logp.gather(-1, targets[:, None])[:, 0]),
        _values(mean),
        _values((p * (finite - mean[:, None]).square_()).sum(-1)),
        _values(torch.stack(entropies).clamp_min_(0)),
        _values(logp.amax(-1)),
    )


def token_scores(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    encoded: Sequence[Encoded],
    batch_size: int = 64,
    image: bool = False,
) -> list[TokenScores]:
    """Scores of each example's answer, in the order given."""
    scores: dict[int, TokenScores] = {}
    for indices in _by_length(encoded, batch_size):
        some = [encoded[i] for i in indices]
        scores |= dict(zip(indices, _batch_scores(vlm, collate(vlm, features, some), some, image), strict=True))
    return [scores[i] for i in range(len(encoded))]


def nll(scores: Sequence[TokenScores]) -> float:
    """Mean negative log-likelihood over all tokens of all examples, nats."""
    return -float(np.concatenate([score.logp for score in scores]).mean())


def _by_length(encoded: Sequence[Encoded], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of like length, which leaves little padding."""
    ordered = sorted(range(len(encoded)), key=lambda i: (len(encoded[i]), i))
    return (ordered[start : start + batch_size] for start in range(0, len(ordered), batch_size))


@torch.no_grad()
def _batch_scores(vlm: VisionLanguageModel, batch: Batch, encoded: Sequence[Encoded], image: bool) -> list[TokenScores]:
    rows = vlm.path.decode(batch.inputs)
    hidden, width = rows.flatten(0, 1), rows.shape[1]
    answers = _chunked(vlm, hidden, batch.places, batch.targets)
    views = _image_entropies(vlm, hidden, encoded, width) if image else [None] * len(encoded)
    ends = np.cumsum(batch.counts)[:-1]
    fields = {name: np.split(value, ends, -1) for name, value in vars(answers).items()}
    return [
        TokenScores(id=one.id, image=view, **{name: parts[i] for name, parts in fields.items()})
        for i, (one, view) in enumerate(zip(encoded, views, strict=True))
    ]


def _chunked(
    vlm: VisionLanguageModel, hidden: torch.Tensor, places: torch.Tensor, targets: torch.Tensor
) -> Distributions:
    """Logits of a few positions at a time: with a vocabulary of 150,000 all of them would not fit."""
    rows = max(1, CELLS // vlm.head(hidden[:1]).shape[-1])
    parts = [
        distributions(vlm.head(hidden[place]), target)
        for place, target in zip(places.split(rows), targets.split(rows), strict=True)
    ]
    return Distributions(*(np.concatenate([getattr(part, name) for part in parts], -1) for name in vars(parts[0])))


def _image_entropies(
    vlm: VisionLanguageModel, hidden: torch.Tensor, encoded: Sequence[Encoded], width: int
) -> list[Values | None]:
    found = [np.flatnonzero(one.input_ids == vlm.image_token) for one in encoded]
    places = np.concatenate([i * width + positions for i, positions in enumerate(found)])
    if not len(places):
        return [None] * len(encoded)
    index = torch.from_numpy(places).to(hidden.device)
    entropies = _chunked(vlm, hidden, index, torch.zeros_like(index)).renyi
    parts = np.split(entropies, np.cumsum([len(positions) for positions in found])[:-1], -1)
    return [part if part.shape[-1] else None for part in parts]


def _values(tensor: torch.Tensor) -> Values:
    return tensor.double().cpu().numpy()
