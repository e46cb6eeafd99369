"""Exact match for question answering (ScienceQA): of the normalised text, and of the option letter."""

import re
from collections.abc import Callable, Sequence
from statistics import fmean

from .tokenizer import tokenize

_LEAD = r"(?:(?:the\s+)?(?:correct\s+)?(?:answer|option)(?:\s+is)?\s*:?\s*)?"
# a letter in brackets, before a mark, or alone: not the article of "A cat"
_OPTION = re.compile(rf"\s*{_LEAD}(?:\(([a-z])\)|([a-z])(?:[).:,]|\s*$))", re.IGNORECASE)


def text_accuracy(predictions: Sequence[str], answers: Sequence[str]) -> float:
    """Share of predictions, 0 to 1, with the answer's tokens: case, spacing and punctuation do not count.

    An empty prediction matches only an empty answer. Raises ValueError for unequal lengths or no examples.
    """
    return _share_equal(predictions, answers, tokenize)


def letter_accuracy(predictions: Sequence[str], answers: Sequence[str]) -> float:
    """Share of predictions, 0 to 1, that name the answer's option letter, as `option_letter` reads both.

    A prediction that names none is wrong. Raises ValueError for unequal lengths, no examples, or an answer
    without a letter.
    """
    if missing := [index for index, answer in enumerate(answers) if option_letter(answer) is None]:
        raise ValueError(f"answer {missing[0]} names no option letter; give answers such as 'B' or '(B)'")
    return _share_equal(predictions, answers, option_letter)


def option_letter(text: str) -> str | None:
    """The option a text opens with, upper case: B for "B", "(b)", "B. a cat", "Answer: B"; else None."""
    match = _OPTION.match(text)
    return (match[1] or match[2]).upper() if match else None


def _share_equal(predictions: Sequence[str], answers: Sequence[str], read: Callable[[str], object]) -> float:
    if len(predictions) != len(answers):
        raise ValueError(f"{len(predictions)} predictions but {len(answers)} answers; give one answer per prediction")
    if not predictions:
        raise ValueError("no predictions to score; give at least one")
    return fmean(read(p) == read(a) for p, a in zip(predictions, answers, strict=True))
