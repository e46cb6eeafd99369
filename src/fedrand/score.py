"""What a model thinks of each token of an answer: likelihoods and Renyi entropies from one forward pass.

Everything the model-score attacks need of the true answer, the image and the instruction, and the losses of the
evaluation. Scores are of whatever adapter is attached; `with adapter.off():` gives the base model's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from fedrand.batch import Batch, collate
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel

ALPHAS = (0.5, 1.0, 2.0, float("inf"))
MOD_ALPHAS = (0.5, 1.0, 2.0)
CLAMPS = {"exact": 0.0, "vlmia": 1e-10}  # VL-MIA's code keeps every p in [1e-10, 1 - 1e-10]; not harmless, see renyi
CELLS = 2**24  # logits held at once, 64 MB in float32
NEVER = -1e4  # stands for log 0: its probability is 0 in every float type, and 0 times it is 0

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Distributions:
    """Of N next-token distributions p with outcomes y, nats: log p(y); mean and variance of log p under p; Renyi
    entropies [4, N] of order 1/2, 1, 2, infinity; the largest log p; modified entropies [3, N] of order 1/2, 1, 2."""

    logp: Values
    mean_logp: Values
    var_logp: Values
    renyi: Values
    max_logp: Values
    mod_renyi: Values


@dataclass(frozen=True)
class TokenScores(Distributions):
    """One example, over its answer tokens and the end of text.

    Where asked for, Renyi entropies [4, tokens] of what is predicted at each position of the prompt (each predicts the
    token after it): image, None where there is none; instruction, the text after the image, or all of it without one.
    """

    id: str
    image: Values | None = None
    instruction: Values | None = None

    @property
    def loss(self) -> float:
        """Mean negative log-likelihood per token, nats."""
        return -float(self.logp.mean())


@torch.no_grad()
def distributions(logits: torch.Tensor, targets: torch.Tensor, clamp: float = 0.0) -> Distributions:
    """From logits [N, V] and outcomes [N]; `clamp` is of the entropies alone."""
    logp, p = _probabilities(logits)
    mean = torch.linalg.vecdot(p, logp)
    off = logp - mean[:, None]
    clamped = _clamped(p, clamp) if clamp else (logp, p)
    return Distributions(
        _values(logp.gather(-1, targets[:, None])[:, 0]),
        _values(mean),
        _values(torch.linalg.vecdot(p * off, off)),
        _values(_renyi(*clamped)),
        _values(logp.amax(-1)),
        _values(_mod_renyi(*clamped, targets)),
    )


@torch.no_grad()
def renyi(logits: torch.Tensor, clamp: float = 0.0) -> Values:
    """Renyi entropies [4, N] of ALPHAS from logits [N, V], nats.

    clamp: every p is kept in [clamp, 1 - clamp] and not normalised again: over 32,000 tokens a certain model (one p is
    1) then has H_1/2 = 0.555 instead of 0 at 1e-10.
    """
    logp, p = _probabilities(logits)
    return _values(_renyi(*(_clamped(p, clamp) if clamp else (logp, p))))


def _probabilities(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """log p, which is nowhere minus infinity, and p."""
    logp = _log_probabilities(logits)
    return logp, logp.exp()


def _log_probabilities(logits: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), -1).clamp_min_(NEVER)


def _clamped(p: torch.Tensor, clamp: float) -> tuple[torch.Tensor, torch.Tensor]:
    p = p.double().clamp_(clamp, 1 - clamp)
    return p.log(), p


def _renyi(logp: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    shannon = -torch.linalg.vecdot(p, logp)
    entropies = (2 * p.sqrt().sum(-1).log(), shannon, -torch.linalg.vecdot(p, p).log(), -logp.amax(-1))
    return torch.stack(entropies).clamp_min_(0)


def _mod_renyi(logp: torch.Tensor, p: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Modified entropies [3, N] (Li et al., 2024), with the sign of VL-MIA's code. Of order a, with b = |1 - a|,
    ((1 - p_y) (1 - p_y^b) + sum over i != y of p_i (1 - (1 - p_i)^b)) / b, which at a = 1 becomes
    -(1 - p_y) log p_y - sum over i != y of p_i log(1 - p_i)."""
    y = targets[:, None]
    rest = (1 - p).clamp_min_(torch.finfo(p.dtype).tiny)
    log_own, own, other = (value.gather(-1, y)[:, 0] for value in (logp, p, rest))
    root, log = rest.sqrt(), rest.log()

    def others(value: torch.Tensor) -> torch.Tensor:
        return torch.linalg.vecdot(p, value) - own * value.gather(-1, y)[:, 0]

    half = 2 * (other * (1 - own.sqrt()) + others(1 - root))
    one = -other * log_own - others(log)
    two = other * other + others(p)
    return torch.stack((half, one, two))


def token_scores(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    encoded: Sequence[Encoded],
    batch_size: int = 64,
    prompt: bool = False,
    clamp: float = 0.0,
) -> list[TokenScores]:
    """Scores of each example's answer, in the order given; with `prompt`, entropies at the prompt's positions too."""
    scores = dict(each_score(vlm, features, encoded, batch_size, prompt, clamp))
    return [scores[i] for i in range(len(encoded))]


def each_score(
    vlm: VisionLanguageModel,
    features: ImageFeatures,
    encoded: Sequence[Encoded],
    batch_size: int = 64,
    prompt: bool = False,
    clamp: float = 0.0,
) -> Iterator[tuple[int, TokenScores]]:
    """`token_scores` with their places, a batch of like lengths at a time: no more than a batch is held."""
    for indices in _by_length(encoded, batch_size):
        some = [encoded[i] for i in indices]
        batch = collate(vlm, features, some)
        yield from zip(indices, _batch_scores(vlm, batch, some, prompt, clamp), strict=True)


def each_logp(
    vlm: VisionLanguageModel, features: ImageFeatures, encoded: Sequence[Encoded], batch_size: int = 64
) -> Iterator[tuple[int, Values]]:
    """Places and log p of each answer's tokens, nats: the bits of `each_score`'s `logp`, and nothing else."""
    for indices in _by_length(encoded, batch_size):
        batch = collate(vlm, features, [encoded[i] for i in indices])
        yield from zip(indices, _batch_logp(vlm, batch), strict=True)


def nll(scores: Sequence[TokenScores]) -> float:
    """Mean negative log-likelihood over all tokens of all examples, nats."""
    return -float(np.concatenate([score.logp for score in scores]).mean())


def _by_length(encoded: Sequence[Encoded], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of like length, which leaves little padding."""
    ordered = sorted(range(len(encoded)), key=lambda i: (len(encoded[i]), i))
    return (ordered[start : start + batch_size] for start in range(0, len(ordered), batch_size))


@torch.no_grad()
def _batch_scores(
    vlm: VisionLanguageModel, batch: Batch, encoded: Sequence[Encoded], prompt: bool, clamp: float
) -> list[TokenScores]:
    rows = vlm.path.decode(batch.inputs)
    hidden, width = rows.flatten(0, 1), rows.shape[1]
    parts = [distributions(*chunk, clamp) for chunk in _chunks(vlm, hidden, batch.places, batch.targets)]
    ends = np.cumsum(batch.counts)[:-1]
    names = [field.name for field in fields(Distributions)]
    answers = {n: np.split(np.concatenate([getattr(part, n) for part in parts], -1), ends, -1) for n in names}
    views: list[dict[str, Values | None]] = [{} for _ in encoded]
    if prompt:
        views = _prompt_entropies(vlm, hidden, encoded, width, clamp)
    return [
        TokenScores(id=one.id, **view, **{name: values[i] for name, values in answers.items()})
        for i, (one, view) in enumerate(zip(encoded, views, strict=True))
    ]


@torch.no_grad()
def _batch_logp(vlm: VisionLanguageModel, batch: Batch) -> list[Values]:
    hidden = vlm.path.decode(batch.inputs).flatten(0, 1)
    chunks = _chunks(vlm, hidden, batch.places, batch.targets)
    logp = [_log_probabilities(logits).gather(-1, targets[:, None])[:, 0] for logits, targets in chunks]
    return np.split(_values(torch.cat(logp)), np.cumsum(batch.counts)[:-1])


def _chunks(
    vlm: VisionLanguageModel, hidden: torch.Tensor, places: torch.Tensor, targets: torch.Tensor
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Logits and outcomes of a few positions at a time: with a vocabulary of 150,000 all of them would not fit."""
    rows = max(1, CELLS // vlm.head(hidden[:1]).shape[-1])
    for place, target in zip(places.split(rows), targets.split(rows), strict=True):
        yield vlm.head(hidden[place]), target


def _prompt_entropies(
    vlm: VisionLanguageModel, hidden: torch.Tensor, encoded: Sequence[Encoded], width: int, clamp: float
) -> list[dict[str, Values | None]]:
    """Image and instruction [4, tokens] of each example, from hidden states [batch * width, H]."""
    images = [np.flatnonzero(one.input_ids == vlm.image_token) for one in encoded]
    begins = [int(image[-1]) + 1 if len(image) else 0 for image in images]
    texts = [np.arange(begin, one.answer_start) for begin, one in zip(begins, encoded, strict=True)]
    found = [np.concatenate(pair) for pair in zip(images, texts, strict=True)]
    index = torch.from_numpy(np.concatenate([i * width + places for i, places in enumerate(found)])).to(hidden.device)
    entropies = np.concatenate([renyi(logits, clamp) for logits, _ in _chunks(vlm, hidden, index, index)], -1)
    parts = np.split(entropies, np.cumsum([len(places) for places in found])[:-1], -1)
    return [
        {"image": part[:, : len(image)] if len(image) else None, "instruction": part[:, len(image) :]}
        for part, image in zip(parts, images, strict=True)
    ]


def _values(tensor: torch.Tensor) -> Values:
    return tensor.double().cpu().numpy()
