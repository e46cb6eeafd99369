"""CIDEr-D (Vedantam et al., 2015; coco-caption's "CIDEr") and CIDEr-R (Santos et al., 2021).

Both take the same clipped tf-idf cosine, mean over n = 1..4, and weight it per (hypothesis, reference) pair:
CIDEr-D by a Gaussian of the difference in length, CIDEr-R by the relative length and by the words repeated.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from .ngrams import MAX_N, Ngram, ngram_counts
from .pairs import check_pairs

_SIGMA = 6.0
_REPETITION_WEIGHT, _LENGTH_WEIGHT = 0.8, 0.2

Weights = list[dict[Ngram, float]]


class Cider(NamedTuple):
    """CIDEr-D and CIDEr-R, each 0 to 10; the paper prints x 100."""

    d: float
    r: float


class _Sentence(NamedTuple):
    weights: Weights  # per n: raw count * idf
    norms: list[float]
    length: int
    words: Counter[str]


def cider_scores(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Cider:
    """CIDEr-D and CIDEr-R of tokenised hypotheses: means over images.

    Document frequencies are counted over the references given, so a score belongs to its set of images. A
    single image scores 0 (every idf is log 1), and so does an empty hypothesis. Raises ValueError for unequal
    lengths, no images, or an image without references.
    """
    check_pairs(hypotheses, references)
    frequency = _document_frequency(references)
    idf = {ngram: math.log(len(references) / images) for ngram, images in frequency.items()}
    unseen = math.log(len(references))

    def sentence(tokens: Sequence[str]) -> _Sentence:
        weights = [
            {ngram: count * idf.get(ngram, unseen) for ngram, count in counts.items()}
            for counts in ngram_counts(tokens)
        ]
        norms = [math.hypot(*by_ngram.values()) for by_ngram in weights]
        return _Sentence(weights, norms, len(tokens), _words(tokens))

    scores = [
        _image_score(sentence(hypothesis), [sentence(ref) for ref in refs])
        for hypothesis, refs in zip(hypotheses, references, strict=True)
    ]
    return Cider(d=10 * fmean(score.d for score in scores), r=10 * fmean(score.r for score in scores))


def _document_frequency(references: Sequence[Sequence[Sequence[str]]]) -> Counter[Ngram]:
    """In how many images some reference has the n-gram."""
    frequency = Counter[Ngram]()
    for refs in references:
        frequency.update({ngram for ref in refs for counts in ngram_counts(ref) for ngram in counts})
    return frequency


def _words(tokens: Sequence[str]) -> Counter[str]:
    # the authors' code of CIDEr-R counts runs of word characters here, not tokens: "n't" is two of them
    return Counter(re.findall(r"\w+", " ".join(tokens)))


def _image_score(hypothesis: _Sentence, refs: Sequence[_Sentence]) -> Cider:
    pairs = [(_similarity(hypothesis, ref), ref) for ref in refs]
    alike = [(similarity, ref) for similarity, ref in pairs if similarity]
    return Cider(
        d=sum(similarity * _gaussian(hypothesis, ref) for similarity, ref in alike) / len(refs),
        r=sum(similarity * _robustness(hypothesis, ref) for similarity, ref in alike) / len(refs),
    )


def _similarity(hypothesis: _Sentence, ref: _Sentence) -> float:
    """Mean over n of sum min(h, r) * r / (|h| |r|); 0 for an n at which a side weighs nothing."""
    total = 0.0
    for n in range(MAX_N):
        mine, theirs = hypothesis.weights[n], ref.weights[n]
        common = sum(min(weight, theirs[ngram]) * theirs[ngram] for ngram, weight in mine.items() if ngram in theirs)
        total += common and common / (hypothesis.norms[n] * ref.norms[n])
    return total / MAX_N


def _gaussian(hypothesis: _Sentence, ref: _Sentence) -> float:
    # coco-caption counts bigrams; between two texts that share a word the difference is the same
    return math.exp(-((hypothesis.length - ref.length) ** 2) / (2 * _SIGMA**2))


def _robustness(hypothesis: _Sentence, ref: _Sentence) -> float:
    """Repetition^0.8 * length^0.2.

    Repetition is the geometric mean over the hypothesis' words of 1 / (1 + x), x the distance from the
    word's count in the reference (from 1 if it is not there); length is exp(-((lc - lr) / lr)^2),
    of the token counts.
    """
    excess = [abs(count - ref.words.get(word, 1)) for word, count in hypothesis.words.items()]
    log_repetition = -fmean(map(math.log1p, excess)) if excess else 0.0
    log_length = -(((hypothesis.length - ref.length) / ref.length) ** 2)
    return math.exp(_REPETITION_WEIGHT * log_repetition + _LENGTH_WEIGHT * log_length)
