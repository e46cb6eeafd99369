"""ROUGE-L (Lin, 2004) as coco-caption has it: F-measure of the longest common subsequence, beta = 1.2."""

from collections.abc import Sequence
from statistics import fmean

from .pairs import check_pairs

_BETA_SQUARED = 1.2**2


def rouge_l(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> float:
    """Mean over images of ROUGE-L, 0 to 1, of tokenised hypotheses.

    Precision and recall each take their own best reference, so an image can score more than against any one.
    An empty hypothesis scores 0, against an empty reference too (coco-caption: 1). Raises ValueError for
    unequal lengths, no images, or an image without references.
    """
    check_pairs(hypotheses, references)
    return fmean(map(_image_score, hypotheses, references))


def _image_score(hypothesis: Sequence[str], refs: Sequence[Sequence[str]]) -> float:
    common = [lcs_length(hypothesis, ref) for ref in refs]
    if not any(common):
        return 0.0
    precision = max(common) / len(hypothesis)
    recall = max(lcs / len(ref) for lcs, ref in zip(common, refs, strict=True) if ref)
    return (1 + _BETA_SQUARED) * precision * recall / (recall + _BETA_SQUARED * precision)


def lcs_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, by Hyyrö's bit vectors (2004): an integer per row."""
    positions: dict[str, int] = {}
    for index, word in enumerate(a):
        positions[word] = positions.get(word, 0) | 1 << index
    full = (1 << len(a)) - 1
    row = full
    for word in b:
        matches = row & positions.get(word, 0)
        row = (row + matches | row - matches) & full
    return len(a) - row.bit_count()
