import math

import pytest

from fedrand.metrics import bleu_scores


def test_equal_texts_score_one() -> None:
    texts = [["a", "red", "dog", "runs"], ["two", "cats", "sit", "still", "here"]]
    assert bleu_scores(texts, [[text] for text in texts]) == pytest.approx([1] * 4, abs=1e-8)


def test_counts_are_clipped_by_the_largest_count_in_a_single_reference() -> None:
    # Papineni's example: seven times "the"; the references hold two and one, so 2 of 7 match, and no bigram
    refs = [["the", "cat", "is", "on", "the", "mat"], ["there", "is", "a", "cat", "on", "the", "mat"]]
    scores = bleu_scores([["the"] * 7], [refs])
    assert scores.bleu1 == pytest.approx(2 / 7, abs=1e-8)
    assert scores.bleu2 < 1e-7


def test_scores_are_cumulative_geometric_means_over_the_whole_corpus() -> None:
    # "a b c d": 4/4 words, 3/3, 2/2, 1/1; "a b x c d": 4/5 words, 2/4 bigrams (a b, c d), no longer match
    hypotheses, refs = [list("abcd"), list("abxcd")], [[list("abcd")], [list("abycd")]]
    precisions = [8 / 9, 5 / 7, 2 / 5, 1 / 3]
    expected = [math.prod(precisions[:n]) ** (1 / n) for n in range(1, 5)]
    assert bleu_scores(hypotheses, refs) == pytest.approx(expected, abs=1e-8)


def test_of_two_equally_close_reference_lengths_the_shorter_counts() -> None:
    # 4 words against 3 and 5: the shorter, 3, asks for no brevity penalty; against 5 alone it is exp(1 - 5/4)
    hypothesis = list("abcd")
    assert bleu_scores([hypothesis], [[list("abc"), list("abcde")]]).bleu1 == pytest.approx(1, abs=1e-8)
    assert bleu_scores([hypothesis], [[list("abcde")]]).bleu1 == pytest.approx(math.exp(-1 / 4), abs=1e-8)


def test_an_empty_hypothesis_only_shortens_the_corpus() -> None:
    # 4 of 4 words match, 4 words against 4 + 2: exp(1 - 6/4)
    scores = bleu_scores([list("abcd"), []], [[list("abcd")], [list("ef")]])
    assert scores == pytest.approx([math.exp(-1 / 2)] * 4, abs=1e-8)


def test_nothing_but_empty_hypotheses_scores_zero() -> None:
    assert bleu_scores([[], []], [[["a"]], [[]]]) == (0, 0, 0, 0)
