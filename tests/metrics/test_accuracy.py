import pytest

from fedrand.metrics import letter_accuracy, option_letter, text_accuracy

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


def test_an_empty_prediction_is_wrong_and_does_not_crash() -> None:
    assert text_accuracy([""], ["a dog"]) == 0
    assert letter_accuracy(["", "The answer is B."], ["B", "(B)"]) == 0.5


def test_mistakes_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="2 predictions but 1 answers"):
        text_accuracy(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="no predictions"):
        letter_accuracy([], [])
    with pytest.raises(ValueError, match="answer 1 names no option letter"):
        letter_accuracy(["A", "B"], ["A", "a dog"])
