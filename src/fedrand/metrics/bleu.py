"""Corpus BLEU-1..4 (Papineni et al., 2002) as coco-caption computes it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from .ngrams import MAX_N, ngram_counts
from .pairs import check_pairs

# coco-caption's smoothing: visible where a corpus shares no 4-gram, so part of comparable scores
_TINY, _SMALL = 1e-15, 1e-9


class Bleu(NamedTuple):
    bleu1: float
    bleu2: float
    bleu3: float
    bleu4: float


def bleu_scores(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Bleu:
    """BLEU-1..4 of tokenised hypotheses, 0 to 1.

    Counts are clipped by their maximum over an image's references and summed over images; the reference
    length is the closest one, the shorter of two equally close. An empty hypothesis has length 0; if all are
    empty the scores are 0. Raises ValueError for unequal lengths, no images, or an image without references.
    """
    check_pairs(hypotheses, references)
    matched, guessed = [0] * MAX_N, [0] * MAX_N
    for hypothesis, refs in zip(hypotheses, references, strict=True):
        ref_counts = [ngram_counts(ref) for ref in refs]
        for n, counts in enumerate(ngram_counts(hypothesis)):
            matched[n] += sum(min(count, max(ref[n][ngram] for ref in ref_counts)) for ngram, count in counts.items())
            guessed[n] += counts.total()
    brevity = _brevity(sum(map(len, hypotheses)), sum(map(_closest_length, hypotheses, references)))
    scores: list[float] = []
    product = 1.0
    for n in range(MAX_N):
        product *= (matched[n] + _TINY) / (guessed[n] + _SMALL)
        scores.append(brevity * product ** (1 / (n + 1)))
    return Bleu(*scores)


def _closest_length(hypothesis: Sequence[str], refs: Sequence[Sequence[str]]) -> int:
    return min((abs(len(ref) - len(hypothesis)), len(ref)) for ref in refs)[1]


def _brevity(length: int, reference_length: int) -> float:
    ratio = (length + _TINY) / (reference_length + _SMALL)
    return math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
