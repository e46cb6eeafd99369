"""A sentence's n-grams, n = 1..4, with their counts: what BLEU and CIDEr compare."""

from collections import Counter
from collections.abc import Sequence

MAX_N = 4

Ngram = tuple[str, ...]


def ngram_counts(tokens: Sequence[str]) -> list[Counter[Ngram]]:
    """Four counters: item n - 1 counts the n-grams."""
    return [Counter(zip(*(tokens[start:] for start in range(n)), strict=False)) for n in range(1, MAX_N + 1)]
