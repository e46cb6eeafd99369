"""The seven caption scores of the paper's tables, from text."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .bleu import bleu_scores
from .cider import cider_scores
from .pairs import check_pairs
from .rouge import rouge_l
from .tokenizer import tokenize


class CaptionScores(NamedTuple):
    """Raw scale: BLEU and ROUGE-L 0 to 1, CIDEr 0 to 10; the paper prints a CIDEr of 0.585 as 58.5."""

    bleu1: float
    bleu2: float
    bleu3: float
    bleu4: float
    rouge_l: float
    cider_d: float
    cider_r: float


def caption_scores(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenizer: Callable[[str], list[str]] = tokenize,
) -> CaptionScores:
    """Scores of one hypothesis per image against that image's references, over the whole set.

    `tokenizer` turns a text into its tokens; `str.split` is for strings that are tokenised already. An empty
    hypothesis scores 0 in the means over images and shortens BLEU's corpus. CIDEr's document frequencies are
    those of these references: it compares only over the same images, and one image alone scores 0. Raises
    ValueError for unequal lengths, no images, or an image without references.
    """
    check_pairs(hypotheses, references)
    hypothesis_tokens = [tokenizer(text) for text in hypotheses]
    reference_tokens = [[tokenizer(text) for text in texts] for texts in references]
    cider_d, cider_r = cider_scores(hypothesis_tokens, reference_tokens)
    return CaptionScores(
        *bleu_scores(hypothesis_tokens, reference_tokens),
        rouge_l=rouge_l(hypothesis_tokens, reference_tokens),
        cider_d=cider_d,
        cider_r=cider_r,
    )
