import pytest

from fedrand.metrics import answer_scores, option_letter, picked_option, text_accuracy

LETTERS = {
    "B": "B",
    " b ": "B",
    "(c)": "C",
    "(C) a cat": "C",
    "D. a dog": "D",
    "a) a cat": "A",
    "Answer: B": "B",
    "The answer is B.": "B",
    "the correct answer is (e)": "E",
    "Option D": "D",
    "A cat": None,
    "(a cat)": None,
    "Boston": None,
    "The answer is blue": None,
    "The answer": None,
    "": None,
}


@pytest.mark.parametrize(("text", "letter"), LETTERS.items())
def test_an_option_letter_is_read_only_where_it_stands_alone(text: str, letter: str | None) -> None:
    assert option_letter(text) == letter


def test_text_matches_whatever_its_case_spacing_and_punctuation() -> None:
    assert text_accuracy(["New  York.", "a cat"], ["new york", "a dog"]) == 0.5


ANIMALS = ("cat", "dog", "sea lion")
PICKED = {
    "dog": 1,
    " Dog. ": 1,
    "B": 1,
    "(b)": 1,
    "B. dog": 1,
    "The answer is (C) sea lion.": 2,
    "The answer is sea  lion.": 2,
    "Answer: A": 0,
    "(A) dog": 0,
    "D": None,
    "a dog": None,
    "sea": None,
    "": None,
}


@pytest.mark.parametrize(("text", "index"), PICKED.items())
def test_an_option_is_picked_by_its_text_or_its_letter(text: str, index: int | None) -> None:
    assert picked_option(text, ANIMALS) == index


def test_an_option_that_is_a_letter_is_read_as_its_text() -> None:
    assert picked_option("A", ("B", "A")) == 1


def test_options_that_differ_in_a_comma_or_a_capital_are_told_apart() -> None:
    sentences = ("Come, Cora.", "Come Cora.", "come Cora.")
    assert [picked_option(text, sentences) for text in (*sentences, "Come cora", "Come Cora")] == [0, 1, 2, None, None]
    assert picked_option("come, CORA.", sentences) == 0


def test_a_letter_alone_is_right_by_letter_and_wrong_by_text() -> None:
    said = ["B", "(B) dog", "dog", "(A) dog", "The answer is dog.", ""]
    scores = answer_scores(said, ["dog"] * 6, [ANIMALS] * 6)
    assert scores.letter_accuracy == pytest.approx(4 / 6)
    assert scores.text_accuracy == pytest.approx(4 / 6)
    assert answer_scores(["B"], ["dog"], [ANIMALS]) == (1, 0)
    assert answer_scores(["(A) dog"], ["dog"], [ANIMALS]) == (0, 1)


def test_an_empty_prediction_is_wrong_and_does_not_crash() -> None:
    assert text_accuracy([""], ["a dog"]) == 0


def test_mistakes_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="2 predictions but 1 answers"):
        text_accuracy(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="no predictions"):
        answer_scores([], [], [])
    with pytest.raises(ValueError, match="answer 0 is none of its 3 choices"):
        answer_scores(["A"], ["bird"], [ANIMALS])
