"""Blind classifiers: members told from non-members by their text or their pixels alone, never by a model's scores.

Where one of them succeeds the two sides differ by themselves, and an attack's AUROC on them measures that too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrand.audit.controls.logistic import Table, Values, cross_fitted
from fedrand.audit.statistics import Interval
from fedrand.data.example import Example

VOCABULARY = 400  # the words that most groups have
SIDE = 8  # pixels

Examples = Sequence[Example]


def blind_text(members: Examples, others: Examples, rng: np.random.Generator) -> dict[str, float]:
    """Example id -> log-odds of being a member, from a bag of words and the lengths of question and answer."""
    return _scores(members, others, _words([*members, *others]), rng)


def blind_image(members: Examples, others: Examples, rng: np.random.Generator) -> dict[str, float]:
    """Example id -> log-odds of being a member, from the picture at 8 x 8 pixels. ValueError where one has none."""
    return _scores(members, others, _pixels([*members, *others]), rng)


def confounded(blind: Interval) -> bool:
    """Whether a blind classifier tells the sides apart: its AUROC's lower bound lies above a coin. Then an attack's
    figure is no evidence by itself, and only its paired difference from the blind one is."""
    return blind.low > 0.5


def _scores(members: Examples, others: Examples, x: Table, rng: np.random.Generator) -> dict[str, float]:
    examples = [*members, *others]
    y = np.repeat([1.0, 0.0], [len(members), len(others)])
    scores = cross_fitted(x, y, [example.unit for example in examples], rng)
    return {example.id: float(score) for example, score in zip(examples, scores, strict=True)}


@dataclass(frozen=True)
class _Words:
    """[n, words + 2]: which words are there, and how many words and letters.

    words: how many; columns: of every word of every text, one after the other; ends [n + 1]: where each text's begin;
    lengths [n, 2].
    """

    words: int
    columns: NDArray[np.int16]
    ends: NDArray[np.intp]
    lengths: NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.lengths), self.words + 2

    def __getitem__(self, rows: slice, /) -> Values:
        first, last, _ = rows.indices(len(self.lengths))
        found = np.zeros((last - first, self.words + 2))
        owner = np.repeat(np.arange(last - first), np.diff(self.ends[first : last + 1]))
        found[owner, self.columns[self.ends[first] : self.ends[last]]] = 1.0
        found[:, -2:] = self.lengths[first:last]
        return found


def _words(examples: Examples) -> _Words:
    units: dict[str, list[Example]] = {}
    for example in examples:
        units.setdefault(example.unit, []).append(example)
    spread = Counter(word for own in units.values() for word in {word for one in own for word in _bag(one)})
    common = sorted(spread, key=lambda word: (-spread[word], word))[:VOCABULARY]
    place = {word: column for column, word in enumerate(common) if spread[word] > 1}
    known = [np.array([place[word] for word in _bag(one) if word in place], np.int16) for one in examples]
    ends = np.cumsum([0, *map(len, known)])
    lengths = np.array([(len(_bag(one)), len(_text(one))) for one in examples])
    return _Words(len(place), np.concatenate(known), ends, lengths)


def _text(example: Example) -> str:
    return f"{example.question} {example.answer}"


def _bag(example: Example) -> list[str]:
    return _text(example).lower().replace(",", " ").split()


@dataclass(frozen=True)
class _Pixels:
    """[n, 8 * 8 * 3], 0 to 1; held as bytes."""

    levels: NDArray[np.uint8]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.levels.shape

    def __getitem__(self, rows: slice, /) -> Values:
        return self.levels[rows] / 255


def _pixels(examples: Examples) -> _Pixels:
    pictures = [example.image for example in examples if example.image is not None]
    if len(pictures) < len(examples):
        raise ValueError(f"{len(examples) - len(pictures)} of {len(examples)} examples have no image")
    levels = np.empty((len(pictures), SIDE * SIDE * 3), np.uint8)
    for row, one in zip(levels, pictures, strict=True):
        row[:] = np.asarray(one.load().resize((SIDE, SIDE))).ravel()
    return _Pixels(levels)
