"""What the tiny model is taught: captions of base drawings, choices between kinds and names, some without the image."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fedrand.data import EmojiPack, Example
from fedrand.data.prompts import render

CHOICES = 4
PROMPTS = ("coco", "scienceqa", "scienceqa-printed")
KIND_QUESTION, NAME_QUESTION = "What kind of thing is this?", "What is this?"


@dataclass(frozen=True)
class Mixture:
    """Shares of the lessons. kinds, names: questions, the rest are captions; balance: by which power of how common a kind
    is its drawings are asked for it less (0: all alike, 1: every kind as often); the rarest kinds are asked in all of
    their lessons, and then captions and names come short; blind: lessons without their image, which
    calibrate the likelihood that a choice has on its own; shuffled: captions with their keywords in random order; second:
    of those, the ones with emojilib's keywords instead of CLDR's."""

    kinds: float = 0.4
    names: float = 0.2
    balance: float = 0.5
    blind: float = 0.1
    shuffled: float = 0.25
    second: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.kinds < 1 or not 0 <= self.names <= 1 - self.kinds:
            raise ValueError(f"shares of lessons: kinds {self.kinds} below 1, names {self.names} in what they leave")


@dataclass(frozen=True)
class Lesson:
    example: Example
    with_image: bool


class Teacher:
    """Draws lessons about the given drawings; the wrong choices come from them alone."""

    def __init__(self, pack: EmojiPack, examples: Sequence[Example], mixture: Mixture, rng: random.Random) -> None:
        self._items, self._mixture, self._rng = pack.items, mixture, rng
        self._kinds = sorted({self._items[e.id].kind for e in examples})
        self._names = sorted({(self._items[e.id].name, e.label) for e in examples})
        self._asks = kind_shares(Counter(self._items[e.id].kind for e in examples), mixture)

    def lesson(self, example: Example) -> Lesson:
        """A caption, or a question with four choices, about one drawing."""
        names = self._mixture.names / (1 - self._mixture.kinds)
        if self._rng.random() < self._asks[self._items[example.id].kind]:
            taught = self._kind(example)
        else:
            taught = self._name(example) if self._rng.random() < names else self._caption(example)
        return Lesson(taught, with_image=self._rng.random() >= self._mixture.blind)

    def _caption(self, example: Example) -> Example:
        if self._rng.random() >= self._mixture.shuffled:
            return example
        item = self._items[example.id]
        pool = item.more_keywords if self._rng.random() < self._mixture.second else item.keywords
        keywords = self._rng.sample(pool, min(3, len(pool)))
        return replace(example, answer=", ".join((item.kind, item.name, *keywords)))

    def _kind(self, example: Example) -> Example:
        right = self._items[example.id].kind
        return self._asked(example, KIND_QUESTION, right, [kind for kind in self._kinds if kind != right])

    def _name(self, example: Example) -> Example:
        right = self._items[example.id].name
        wrong = [name for name, category in self._names if category != example.label and name != right]
        return self._asked(example, NAME_QUESTION, right, wrong)

    def _asked(self, example: Example, question: str, right: str, wrong: list[str]) -> Example:
        choices = [right, *self._rng.sample(wrong, CHOICES - 1)]
        self._rng.shuffle(choices)
        return replace(example, prompt="scienceqa", question=question, choices=tuple(choices), answer=right)


def kind_shares(drawings: Mapping[str, int], mixture: Mixture) -> dict[str, float]:
    """kind -> the share of its drawings' lessons that ask for it; `mixture.kinds` of all lessons where none is cut at 1."""
    weights = {kind: count**-mixture.balance for kind, count in drawings.items()}
    mean = sum(weights[kind] * count for kind, count in drawings.items()) / sum(drawings.values())
    return {kind: min(1.0, mixture.kinds * weight / mean) for kind, weight in weights.items()}


def tokenizer_texts(pack: EmojiPack, examples: Iterable[Example], repeats: int = 500) -> Iterator[str]:
    """Everything the tokenizer learns from: base captions, names, keywords, and the prompts often enough to be words."""
    for example in examples:
        item = pack.items[example.id]
        yield from (" " + text for text in (*item.references, *item.keywords, *item.more_keywords))
    blank = Example("", None, "scienceqa", "", (), question=KIND_QUESTION, choices=("",) * CHOICES)
    asked = [
        replace(blank, prompt=prompt, question=question)
        for prompt in PROMPTS
        for question in (KIND_QUESTION, NAME_QUESTION)
    ]
    yield from [render(example) for example in asked] * repeats
