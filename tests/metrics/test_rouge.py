import random

import pytest

from fedrand.metrics import rouge_l
from fedrand.metrics.rouge import lcs_length


def _lcs_by_definition(a: str, b: str) -> int:
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + _lcs_by_definition(a[1:], b[1:])
    return max(_lcs_by_definition(a[1:], b), _lcs_by_definition(a, b[1:]))


def test_the_bit_vector_finds_the_length_the_definition_gives() -> None:
    rng = random.Random(0)
    for _ in range(300):
        a, b = ("".join(rng.choices("abc", k=rng.randrange(9))) for _ in range(2))
        assert lcs_length(a, b) == _lcs_by_definition(a, b)


def test_sequences_longer_than_a_machine_word_count_in_full() -> None:
    assert lcs_length(["a", "b"] * 100, ["b", "a"] * 100) == 199


def test_equal_texts_score_one() -> None:
    assert rouge_l([["a", "b"]], [[["a", "b"]]]) == pytest.approx(1)


def test_precision_and_recall_take_their_own_best_reference() -> None:
    # "a b c d" against "a b" (LCS 2) and "a b c x y z" (LCS 3): P = 3/4, R = 2/2
    score = rouge_l([list("abcd")], [[list("ab"), list("abcxyz")]])
    assert score == pytest.approx((1 + 1.44) * 0.75 * 1 / (1 + 1.44 * 0.75))


def test_the_score_is_the_mean_over_images_and_an_empty_hypothesis_counts_zero() -> None:
    assert rouge_l([["a"], []], [[["a"]], [["a"]]]) == pytest.approx(0.5)


def test_an_empty_reference_adds_nothing() -> None:
    assert rouge_l([["a"]], [[["a"], []]]) == pytest.approx(1)
    assert rouge_l([[]], [[[]]]) == 0
