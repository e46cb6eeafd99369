"""One model's scores on examples: one forward pass over prompt and answer, and one decoding of its own description.

A few examples at a time are scored and reduced to one number per attack; no logits and no token's score outlive them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import numpy as np

from fedrand.audit.attacks import ScoreAttack, Seen
from fedrand.data.example import Example
from fedrand.generate import Description, descriptions
from fedrand.params import Params
from fedrand.score import CLAMPS, TokenScores, token_scores
from fedrand.world import World

CHUNK = 1024  # examples held at once, in batches of evaluate.batch_size
UNSAID = Description(np.zeros(0, np.int64), np.zeros((4, 0)))

Slot = tuple[str, str]  # attack, slice


@dataclass(frozen=True)
class Scored:
    """places: example id -> its row. values: attack and slice -> the model's own score of each row, [n]; without the
    attacks that do not apply. A hundred thousand examples take one number each per attack."""

    places: Mapping[str, int]
    values: Mapping[Slot, np.ndarray]

    def of(self, slot: Slot, name: str) -> float:
        """The score of one example."""
        return float(self.values[slot][self.places[name]])


def scored(world: World, examples: Sequence[Example], params: Params | None, attacks: Sequence[ScoreAttack]) -> Scored:
    """Scores under an adapter, or under the base model when `params` is None."""
    able = [attack for attack in attacks if not attack.reason]
    values = {(attack.name, attack.slice): np.empty(len(examples)) for attack in able}
    with model(world, params):
        for place, seen in enumerate(shown(world, examples, able)):
            for attack in able:
                values[attack.name, attack.slice][place] = attack.score(seen)
    return Scored({example.id: place for place, example in enumerate(examples)}, values)


def likelihoods(world: World, examples: Sequence[Example], params: Params) -> np.ndarray:
    """Mean log p per answer token of each example, [n], nats: what shadow models are asked for."""
    with model(world, params):
        return np.array([-score.loss for some in _chunks(examples) for score in _answers(world, some)])


def model(world: World, params: Params | None) -> AbstractContextManager[None]:
    """The adapter loaded, or off, for as long as the context lasts."""
    if params is None:
        return world.adapter.off()
    world.adapter.load(params)
    return nullcontext()


def shown(world: World, examples: Sequence[Example], attacks: Sequence[ScoreAttack]) -> Iterator[Seen]:
    """What the model that is loaded shows of each example, as far as the attacks need it, in the order given."""
    slices, names = {attack.slice for attack in attacks}, {attack.name for attack in attacks}
    clamp = CLAMPS[world.recipe.audit.renyi]
    for some in _chunks(examples):
        answers = _answers(world, some, prompt=bool(slices & {"image", "instruction"}), clamp=clamp)
        said = _said(world, some, clamp) if "caption" in slices else [UNSAID] * len(some)
        lowered = _lowered(world, some) if "lowercase" in names else {}
        for example, answer, words in zip(some, answers, said, strict=True):
            yield Seen(example.answer, answer, words, lowered.get(example.id, answer.loss))


def _answers(world: World, examples: Sequence[Example], prompt: bool = False, clamp: float = 0.0) -> list[TokenScores]:
    size = world.recipe.evaluate.batch_size
    return token_scores(world.vlm, world.features, world.encoded(examples), size, prompt, clamp)


def _said(world: World, examples: Sequence[Example], clamp: float) -> list[Description]:
    table, prompts = world.recipe.evaluate, world.encoded(examples, with_answer=False)
    return descriptions(world.vlm, world.features, prompts, table.max_new_tokens, table.batch_size, clamp)


def _lowered(world: World, examples: Sequence[Example]) -> dict[str, float]:
    """Losses of the answers that lower case changes."""
    cased = [replace(e, answer=e.answer.lower()) for e in examples if e.answer != e.answer.lower()]
    return {score.id: score.loss for score in _answers(world, cased)}


def _chunks(examples: Sequence[Example]) -> Iterator[Sequence[Example]]:
    return (examples[start : start + CHUNK] for start in range(0, len(examples), CHUNK))
