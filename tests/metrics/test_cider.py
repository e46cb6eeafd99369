import math
import re
from collections.abc import Sequence

import pytest

from fedrand.metrics import cider_scores

HYPOTHESES = [
    "a small dog runs on the beach",
    "two cats sit on the the sofa and do n't do n't move",
    "a man 's red bike by a wall",
    "an empty street",
    "",
]
REFERENCES = [
    ["a dog is running along the beach", "a small brown dog runs on the sand near the sea"],
    ["two cats sit on a sofa", "the cats do n't move from the sofa", "cats on the sofa"],
    ["a red bike leans against the wall", "somebody 's bike by a wall"],
    ["an empty street at 5 p.m.", "a street without people"],
    ["a bowl of fruit on the table"],
]


def _brute_force(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, float]:
    """The formulas written out: lists of n-grams, counted anew for every term."""

    def grams(text: str, n: int) -> list[str]:
        words = text.split()
        return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]

    def weight(gram: str, text: str, n: int) -> float:
        df = sum(any(gram in grams(ref, n) for ref in refs) for refs in references)
        return grams(text, n).count(gram) * (math.log(len(references)) - math.log(max(1, df)))

    def norm(text: str, n: int) -> float:
        return math.sqrt(sum(weight(gram, text, n) ** 2 for gram in set(grams(text, n))))

    def cosine(hypothesis: str, ref: str, n: int) -> float:
        pairs = [(weight(gram, hypothesis, n), weight(gram, ref, n)) for gram in set(grams(hypothesis, n))]
        scale = norm(hypothesis, n) * norm(ref, n)
        return sum(min(h, r) * r for h, r in pairs) / scale if scale else 0.0

    def repetition(hypothesis: str, ref: str) -> float:
        heard, said = re.findall(r"\w+", ref), re.findall(r"\w+", hypothesis)
        factors = [
            1 / (1 + (abs(heard.count(word) - said.count(word)) if word in heard else said.count(word) - 1))
            for word in set(said)
        ]
        return math.prod(factors) ** (1 / len(factors)) if factors else 0.0

    d = r = 0.0
    for hypothesis, refs in zip(hypotheses, references, strict=True):
        for ref in refs:
            share = 10 / len(refs) / len(hypotheses)
            similarity = sum(cosine(hypothesis, ref, n) for n in (1, 2, 3, 4)) / 4
            difference = len(grams(hypothesis, 2)) - len(grams(ref, 2))
            d += share * similarity * math.exp(-(difference**2) / 72)
            relative = (len(hypothesis.split()) - len(ref.split())) / len(ref.split())
            length = math.exp(-(relative**2))
            r += share * similarity * repetition(hypothesis, ref) ** 0.8 * length**0.2
    return d, r


def _scores(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, float]:
    return cider_scores([text.split() for text in hypotheses], [[ref.split() for ref in refs] for refs in references])


def test_scores_are_those_of_the_formulas_written_out() -> None:
    assert _scores(HYPOTHESES, REFERENCES) == pytest.approx(_brute_force(HYPOTHESES, REFERENCES), abs=1e-12)


def test_a_caption_equal_to_its_only_reference_scores_ten() -> None:
    # every n-gram is in 1 of 2 images, so each of the four cosines is 1; no length differs, no word repeats
    texts = ["a red dog runs", "two cats sit still"]
    assert _scores(texts, [[text] for text in texts]) == pytest.approx((10, 10))


def test_an_ngram_size_that_a_short_caption_lacks_scores_zero() -> None:
    # two words: the cosines of n = 1 and 2 are 1, those of 3 and 4 have nothing to compare
    assert _scores(["red dog", "two cats"], [["red dog"], ["two cats"]]) == pytest.approx((5, 5))


def test_an_ngram_in_every_image_weighs_nothing() -> None:
    assert _scores(["the", "the"], [["the dog"], ["the cat"]]) == (0, 0)


def test_cider_d_weighs_the_difference_in_length_and_cider_r_the_ratio() -> None:
    # image 1, "red" against "red dog": cosine log2 / (sqrt2 log2) for n = 1 only; 1 word against
    # 2: D = 10 / 4 / sqrt2 * exp(-1/72), R = 10 / 4 / sqrt2 * exp(-1/4)^0.2; image 2 shares nothing
    d, r = _scores(["red", "x"], [["red dog"], ["two cats"]])
    assert d == pytest.approx(0.5 * 2.5 / math.sqrt(2) * math.exp(-1 / 72))
    assert r == pytest.approx(0.5 * 2.5 / math.sqrt(2) * math.exp(-1 / 4) ** 0.2)


def test_repeated_words_lower_cider_r() -> None:
    # "red red" against "red cat": one "red" too many, so 1/2; cosine of words min(2w, w) w / (2w w sqrt2), no
    # bigram in common; lengths are equal, so D shows the bare cosine
    d, r = _scores(["red red", "x"], [["red cat"], ["two dogs"]])
    assert d == pytest.approx(0.5 * 2.5 / (2 * math.sqrt(2)))
    assert r == pytest.approx(d * 0.5**0.8)


def test_a_caption_of_symbols_alone_is_scored() -> None:
    # no word to repeat: both penalties are 1, and only n = 1 has something to compare
    assert _scores(["%", "x"], [["%"], ["y"]]) == pytest.approx((1.25, 1.25))


def test_a_single_image_scores_zero() -> None:
    assert _scores(["a red dog runs"], [["a red dog runs"]]) == (0, 0)


def test_an_empty_hypothesis_and_an_empty_reference_score_zero() -> None:
    assert _scores(["", "x"], [["a dog"], [""]]) == (0, 0)
