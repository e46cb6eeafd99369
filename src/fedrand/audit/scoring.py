"""One model's scores on examples: one forward pass for the true answers, one for the model's own descriptions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fedrand.data.example import Example
from fedrand.generate import captions
from fedrand.params import Params
from fedrand.score import TokenScores, token_scores
from fedrand.world import World

SILENT = "nothing"  # scored in place of an empty description


@dataclass(frozen=True)
class Scored:
    """Scores by text ("answer", "caption") and example id."""

    answer: dict[str, TokenScores]
    caption: dict[str, TokenScores]

    def of(self, text: str) -> dict[str, TokenScores]:
        return {"answer": self.answer, "caption": self.caption}[text]


def scored(world: World, examples: Sequence[Example], params: Params | None) -> Scored:
    """Scores under an adapter, or under the base model when `params` is None."""
    if params is None:
        with world.adapter.off():
            return _scored(world, examples)
    world.adapter.load(params)
    return _scored(world, examples)


def _scored(world: World, examples: Sequence[Example]) -> Scored:
    table = world.recipe.evaluate
    prompts = world.encoded(examples, with_answer=False)
    said = captions(world.vlm, world.features, prompts, table.max_new_tokens, table.batch_size)
    described = [replace(example, answer=text or SILENT) for example, text in zip(examples, said, strict=True)]
    return Scored(*(_by_id(world, some) for some in (examples, described)))


def _by_id(world: World, examples: Sequence[Example]) -> dict[str, TokenScores]:
    found = token_scores(world.vlm, world.features, world.encoded(examples), world.recipe.evaluate.batch_size)
    return {score.id: score for score in found}
