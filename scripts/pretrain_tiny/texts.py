"""What the tiny model is trained on: captions with keywords drawn anew, and multiple choice, of base-split drawings."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fedrand.data import Example, emoji_qa, load_emoji

QUESTIONS = 0.25  # share of multiple choice among the training texts
BLIND = 0.1  # share of texts shown without their image, so that likelihoods without one mean something
OTHER_WORDS = 0.4  # share of captions with emojilib's keywords instead of CLDR's
SHUFFLED = 0.5  # share of captions whose keywords are drawn in any order; the others keep the pack's
SEEDS = range(6)  # different wrong choices for one drawing


@dataclass(frozen=True)
class Lesson:
    """An example to learn from, and the number of its drawing among those in training."""

    example: Example
    drawing: int
    with_image: bool


class Lessons:
    """Draws lessons about `drawings`, each drawing once before any comes again."""

    def __init__(self, drawings: Sequence[Example], rng: random.Random) -> None:
        self.items = load_emoji().items
        self.drawings, self.rng = tuple(drawings), rng
        self.questions = self._asked()
        self.order: list[int] = []

    def _asked(self) -> dict[str, list[Example]]:
        """Questions by drawing; only those whose every choice is about drawings in training."""
        pack, asked = load_emoji(), defaultdict(list)
        known = {example.image.key for example in self.drawings}
        words = {self.items[e.id].name for e in self.drawings} | {self.items[e.id].kind for e in self.drawings}
        for kind in ("kind", "name"):
            for seed in SEEDS:
                for question in emoji_qa(pack, kind, "base", seed=seed):
                    if question.image.key in known and words.issuperset(question.choices):
                        asked[question.image.key].append(question)
        return asked

    def draw(self) -> Lesson:
        if not self.order:
            self.order = list(range(len(self.drawings)))
            self.rng.shuffle(self.order)
        number = self.order.pop()
        drawing = self.drawings[number]
        questions = self.questions[drawing.image.key]
        asked = questions and self.rng.random() < QUESTIONS
        example = self.rng.choice(questions) if asked else replace(drawing, answer=self.caption(drawing))
        return Lesson(example, number, self.rng.random() >= BLIND)

    def caption(self, drawing: Example) -> str:
        """Kind, name and up to three keywords."""
        item = self.items[drawing.id]
        words = list(item.more_keywords if self.rng.random() < OTHER_WORDS else item.keywords)
        if self.rng.random() < SHUFFLED:
            self.rng.shuffle(words)
        return ", ".join([item.kind, item.name, *words[:3]])
