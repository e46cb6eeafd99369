"""Exact match: of a normalised text, and for multiple choice (ScienceQA) of the option's letter and of its text."""

import re
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

from .tokenizer import tokenize

_LEAD = r"(?:(?:the\s+)?(?:correct\s+)?(?:answer|option)(?:\s+is)?\s*:?\s*)?"
# a letter in brackets, before a mark, or alone: not the article of "A cat"
_OPTION = re.compile(rf"\s*{_LEAD}(?:\(([a-z])\)|([a-z])(?:[).:,]|\s*$))", re.IGNORECASE)
_OPENING = re.compile(rf"\s*{_LEAD}", re.IGNORECASE)
_READINGS: tuple[Callable[[str], object], ...] = (
    lambda text: " ".join(text.split()),
    lambda text: " ".join(text.split()).casefold(),
    tokenize,
)


def text_accuracy(predictions: Sequence[str], answers: Sequence[str]) -> float:
    """Share of predictions, 0 to 1, with the answer's tokens: case, spacing and punctuation do not count.

    An empty prediction matches only an empty answer. Raises ValueError for unequal lengths or no examples.
    """
    _check(predictions, answers)
    return fmean(tokenize(p) == tokenize(a) for p, a in zip(predictions, answers, strict=True))


class AnswerScores(NamedTuple):
    """Shares, 0 to 1. letter_accuracy: the right option is picked, by its letter or by its text. text_accuracy: its text
    is given, a letter before it aside."""

    letter_accuracy: float
    text_accuracy: float


def answer_scores(predictions: Sequence[str], answers: Sequence[str], choices: Sequence[Sequence[str]]) -> AnswerScores:
    """Of free answers to multiple-choice questions; `answers` holds the right choices' texts. A text that fits no
    single option is wrong. Raises ValueError for unequal lengths, no examples, or an answer that is no choice."""
    _check(predictions, answers)
    pairs = list(zip(predictions, choices, strict=True))
    if lost := [i for i, (answer, shown) in enumerate(zip(answers, choices, strict=True)) if answer not in shown]:
        raise ValueError(f"answer {lost[0]} is none of its {len(choices[lost[0]])} choices; give the right one's text")
    right = [list(shown).index(answer) for answer, shown in zip(answers, choices, strict=True)]
    return AnswerScores(
        fmean(picked_option(text, shown) == index for (text, shown), index in zip(pairs, right, strict=True)),
        fmean(_written_option(text, shown) == index for (text, shown), index in zip(pairs, right, strict=True)),
    )


def picked_option(text: str, choices: Sequence[str]) -> int | None:
    """The index of the choice a text names: whole as its text, else by its letter, else as text after "the answer is"."""
    if (whole := _same_text(text, choices)) is not None:
        return whole
    letter = option_letter(text)
    if letter is None:
        return _written_option(text, choices)
    index = ord(letter) - ord("A")
    return index if index < len(choices) else None


def _written_option(text: str, choices: Sequence[str]) -> int | None:
    """The index of the choice whose text is given, whatever leads up to it: "(B) dog.", "The answer is dog"."""
    beginnings = (match.end() for pattern in (_OPTION, _OPENING) if (match := pattern.match(text)))
    found = (_same_text(text[start:], choices) for start in (0, *beginnings))
    return next((index for index in found if index is not None), None)


def _same_text(text: str, choices: Sequence[str]) -> int | None:
    """The one choice with this text: to the letter, else but for case, else but for punctuation. Choices may differ in a
    comma alone, so the loosest reading that fits two of them fits none."""
    for read in _READINGS:
        if len(same := [index for index, choice in enumerate(choices) if read(choice) == read(text)]) == 1:
            return same[0]
    return None


def option_letter(text: str) -> str | None:
    """The option a text opens with, upper case: B for "B", "(b)", "B. a cat", "Answer: B"; else None."""
    match = _OPTION.match(text)
    return (match[1] or match[2]).upper() if match else None


def _check(predictions: Sequence[str], answers: Sequence[str]) -> None:
    if len(predictions) != len(answers):
        raise ValueError(f"{len(predictions)} predictions but {len(answers)} answers; give one answer per prediction")
    if not predictions:
        raise ValueError("no predictions to score; give at least one")
