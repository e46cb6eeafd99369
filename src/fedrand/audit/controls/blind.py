"""Blind classifiers: members told from non-members by their text or their pixels alone, never by a model's scores.

Where one of them succeeds the two sides differ by themselves, and an attack's AUROC on them measures that too.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fedrand.audit.controls.logistic import Values, cross_fitted
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


def _scores(members: Examples, others: Examples, x: Values, rng: np.random.Generator) -> dict[str, float]:
    examples = [*members, *others]
    y = np.repeat([1.0, 0.0], [len(members), len(others)])
    scores = cross_fitted(x, y, [example.unit for example in examples], rng)
    return {example.id: float(score) for example, score in zip(examples, scores, strict=True)}


def _words(examples: Examples) -> Values:
    """[n, words + 2]: which words are there, and how many words and letters."""
    texts = [f"{e.question} {e.answer}" for e in examples]
    bags = [text.lower().replace(",", " ").split() for text in texts]
    owners = {(word, e.unit) for bag, e in zip(bags, examples, strict=True) for word in bag}
    spread = Counter(word for word, _ in owners)
    common = sorted(spread, key=lambda word: (-spread[word], word))[:VOCABULARY]
    place = {word: column for column, word in enumerate(common) if spread[word] > 1}
    found = np.zeros((len(examples), len(place) + 2))
    for row, bag, text in zip(found, bags, texts, strict=True):
        row[[place[word] for word in bag if word in place]] = 1.0
        row[-2:] = len(bag), len(text)
    return found


def _pixels(examples: Examples) -> Values:
    """[n, 8 * 8 * 3], 0 to 1."""
    pictures = [example.image for example in examples if example.image is not None]
    if len(pictures) < len(examples):
        raise ValueError(f"{len(examples) - len(pictures)} of {len(examples)} examples have no image")
    return np.array([np.asarray(one.load().resize((SIDE, SIDE)), float).ravel() / 255 for one in pictures])
