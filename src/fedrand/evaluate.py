"""How good a model is: loss, captions and multiple choice; for the base model, the server and every client.

Every figure names its model, split and weighting: `nll` is weighted by tokens over the whole split, caption figures by
image, clients by client.
"""

import base64
import hashlib
import io
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedrand.choices import choice_scores
from fedrand.data.example import Example
from fedrand.errors import RunError
from fedrand.generate import captions
from fedrand.messages import ServerState
from fedrand.metrics import answer_scores, caption_scores, text_accuracy
from fedrand.params import Params
from fedrand.progress import Progress
from fedrand.score import each_score
from fedrand.shelf import DiskShelf
from fedrand.world import World

Figures = dict[str, Any]
SAMPLES = 6


@dataclass(frozen=True)
class Evaluated:
    """figures: split -> metric -> value, and "qa". texts: greedy captions by example id."""

    figures: Figures
    texts: Mapping[str, str]


def evaluate(world: World, params: Params, described: Mapping[str, Sequence[Example]], questions: bool) -> Evaluated:
    """One model's figures: loss on every split, captions on the images in `described`, multiple choice if wanted."""
    world.adapter.load(params)
    figures, texts = {}, {}
    for name, examples in world.splits.items():
        figures[name] = loss(world, examples)
        if chosen := described.get(name):
            said = _described(world, chosen)
            figures[name] |= _caption_figures(said, chosen) | _answer_figures(said, chosen)
            texts |= {example.id: text for example, text in zip(chosen, said, strict=True)}
    if questions and world.questions:
        figures["qa"] = {name: _choices(world, asked) for name, asked in world.questions.items()}
    return Evaluated(figures, texts)


def loss(world: World, examples: Sequence[Example]) -> Figures:
    """Mean negative log-likelihood per answer token, nats; `nll_n` tokens, `n` examples."""
    size, sums, tokens = world.recipe.evaluate.batch_size, np.zeros(len(examples)), 0
    for place, score in each_score(world.vlm, world.features, world.encoded(examples), size):
        sums[place] = np.sum(score.logp, dtype=np.float64)
        tokens += len(score.logp)
    total = -sum(sums.tolist())
    if not math.isfinite(total):
        raise RunError(
            "the model's loss is no number: training broke it; start anew with a lower train.lr or less noise"
        )
    return {"nll": total / tokens, "nll_n": tokens, "n": len(examples)}


def server_loss(world: World, server: ServerState) -> dict[str, float]:
    """The server's loss on the test split, for the line of a round."""
    every = world.recipe.evaluate.every
    if not every or server.round % every:
        return {}
    world.adapter.load(server.params)
    return {"server_test_nll": loss(world, world.splits["test"])["nll"]}


def _described(world: World, examples: Sequence[Example]) -> list[str]:
    table = world.recipe.evaluate
    prompts = world.encoded(examples, with_answer=False)
    return captions(world.vlm, world.features, prompts, table.max_new_tokens, table.batch_size)


def _caption_figures(said: Sequence[str], examples: Sequence[Example]) -> Figures:
    scores = caption_scores(said, [example.references for example in examples])
    exact = text_accuracy(said, [example.answer for example in examples])
    return {"exact": exact, **scores._asdict(), "captions_n": len(examples)}


def _answer_figures(said: Sequence[str], examples: Sequence[Example]) -> Figures:
    """Of multiple-choice questions: whether the greedy answer is the right option, by letter and by text."""
    asked = [(text, example) for text, example in zip(said, examples, strict=True) if example.choices]
    if not asked:
        return {}
    texts, shown = zip(*asked, strict=True)
    scores = answer_scores(texts, [example.answer for example in shown], [example.choices for example in shown])
    return {**scores._asdict(), "answers_n": len(asked)}


def _choices(world: World, asked: Sequence[Example]) -> Figures:
    """Share answered rightly by likelihood (`raw`) and, of the `pmi_n` questions with an image, by its gain over the
    prompt without (`pmi`)."""
    scores = choice_scores(world.vlm, world.features, asked, world.recipe.evaluate.batch_size)
    right = [example.choices.index(example.answer) for example in asked]
    raw = [int(np.argmax(score.raw)) == index for score, index in zip(scores, right, strict=True)]
    gains = zip(asked, scores, right, strict=True)
    pmi = [int(np.argmax(score.pmi)) == index for example, score, index in gains if example.image]
    seen = {"pmi": float(np.mean(pmi)), "pmi_n": len(pmi)} if pmi else {}
    return {"raw": float(np.mean(raw)), **seen, "n": len(asked)}


def subset(examples: Sequence[Example], count: int) -> tuple[Example, ...]:
    """A fixed sample of `count`: the first in the order of their ids' hashes, so that no kind is favoured."""
    return tuple(sorted(examples, key=lambda example: hashlib.sha256(example.id.encode()).digest())[:count])


def results(world: World, server: ServerState, shelf: DiskShelf, last: Sequence[str], progress: Progress) -> Figures:
    """The figures of results.json: base model, server, each client that took part, the `last` round's clients."""
    begun = time.perf_counter()
    few = {name: subset(examples, world.recipe.evaluate.client_captions) for name, examples in world.splits.items()}
    names = [name for name in world.clients if name in shelf.clients()]
    steps = len(names) + 2
    before = evaluate(world, world.initial().params, world.splits, questions=True)
    progress.step("evaluation", 1, steps, "base model")
    after = evaluate(world, server.params, world.splits, questions=True)
    progress.step("evaluation", 2, steps, "server")
    each: dict[str, Figures] = {}
    for name in names:
        each[name] = evaluate(world, shelf.load(name, server.round).local, few, questions=False).figures
        progress.step("evaluation", len(each) + 2, steps, name)
    present = [name for name in last if name in each]
    return {
        "before": before.figures,
        "server": after.figures,
        "clients": {
            **spread([each[name] for name in names]),
            "each": each,
            "participants_last": {"clients": present, **spread([each[name] for name in present])},
        },
        "captions_subset": {name: [example.id for example in examples] for name, examples in few.items()},
        "samples": _samples(world, before.texts, after.texts),
        "evaluation_seconds": time.perf_counter() - begun,
    }


def spread(some: Sequence[Figures]) -> Figures:
    """{"mean", "std", "n"} of every figure over models, unweighted; std divides by n - 1 and is 0 for a single one."""
    if not some:
        return {"mean": {}, "std": {}, "n": 0}
    std = _over(some, lambda values: float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
    return {"mean": _over(some, lambda values: float(np.mean(values))), "std": std, "n": len(some)}


def _over(some: Sequence[Figures], summary: Any) -> Figures:
    return {
        key: _over([one[key] for one in some], summary)
        if isinstance(value, dict)
        else summary([one[key] for one in some])
        for key, value in some[0].items()
    }


def _samples(world: World, before: Mapping[str, str], after: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {
            "id": example.id,
            "image_png_base64": _png(example),
            "reference": example.answer,
            "before": before[example.id],
            "after": after[example.id],
        }
        for example in subset([e for e in world.splits["test"] if e.image], SAMPLES)
    ]


def _png(example: Example) -> str:
    assert example.image is not None
    picture = example.image.load()
    picture.thumbnail((128, 128))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()
