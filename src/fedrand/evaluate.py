"""How good a model is: loss, captions and multiple choice; for the base model, the server and every client.

Every figure names its model, split and weighting: `nll` is weighted by tokens over the whole split, caption figures by
image, clients by client.
"""

import base64
import hashlib
import io
import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedrand.choices import choice_scores
from fedrand.data.example import Example
from fedrand.errors import RunError
from fedrand.generate import captions
from fedrand.messages import ServerState
from fedrand.metrics import answer_scores, caption_scores, text_accuracy
from fedrand.models import Encoded
from fedrand.params import Params
from fedrand.progress import Progress
from fedrand.score import each_logp
from fedrand.shelf import DiskShelf
from fedrand.world import World

Figures = dict[str, Any]
SAMPLES = 6


@dataclass(frozen=True)
class Evaluated:
    """figures: split -> metric -> value, and "qa". texts: greedy captions by example id."""

    figures: Figures
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Asked:
    """A split as every model is asked about it. answered: all its examples with their answers; prompts: of `shown`, the
    examples whose captions are wanted."""

    answered: Sequence[Encoded]
    shown: Sequence[Example]
    prompts: Sequence[Encoded]


def evaluate(world: World, params: Params, asked: Mapping[str, Asked], questions: bool) -> Evaluated:
    """One model's figures: loss and captions on the splits in `asked`, multiple choice if wanted."""
    world.adapter.load(params)
    figures, texts = {}, {}
    for name, split in asked.items():
        figures[name] = loss(world, split.answered)
        if split.shown:
            said = _described(world, split.prompts)
            figures[name] |= _caption_figures(said, split.shown) | _answer_figures(said, split.shown)
            texts |= {example.id: text for example, text in zip(split.shown, said, strict=True)}
    if questions and world.questions:
        figures["qa"] = {name: _choices(world, asked) for name, asked in world.questions.items()}
    return Evaluated(figures, texts)


def loss(world: World, encoded: Sequence[Encoded]) -> Figures:
    """Mean negative log-likelihood per answer token, nats; `nll_n` tokens, `n` examples."""
    size, sums, tokens = world.recipe.evaluate.batch_size, np.zeros(len(encoded)), 0
    for place, logp in each_logp(world.vlm, world.features, encoded, size):
        sums[place] = np.sum(logp, dtype=np.float64)
        tokens += len(logp)
    total = -sum(sums.tolist())
    if not math.isfinite(total):
        raise RunError(
            "the model's loss is no number: training broke it; start anew with a lower train.lr or less noise"
        )
    return {"nll": total / tokens, "nll_n": tokens, "n": len(encoded)}


def server_loss(world: World, server: ServerState) -> dict[str, float]:
    """The server's loss on the test split, for the line of a round."""
    every = world.recipe.evaluate.every
    if not every or server.round % every:
        return {}
    world.adapter.load(server.params)
    return {"server_test_nll": loss(world, world.encoded(world.splits["test"]))["nll"]}


def _prompts(world: World, examples: Sequence[Example]) -> Sequence[Encoded]:
    return world.encoded(examples, with_answer=False)


def _described(world: World, prompts: Sequence[Encoded]) -> list[str]:
    table = world.recipe.evaluate
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
    table = world.recipe.evaluate
    splits = world.measured_on
    every = {name: Asked(world.encoded(some), some, _prompts(world, some)) for name, some in splits.items()}
    clients = [name for name in splits if name != "ood" or table.ood == "everyone"]
    few = {name: subset(splits[name], table.client_captions) for name in clients}
    fewer = {name: replace(every[name], shown=shown, prompts=_prompts(world, shown)) for name, shown in few.items()}
    names = [name for name in world.clients if name in shelf.clients()]
    steps = len(names) + 2
    before = world.resident.known(
        _untrained(world), lambda: evaluate(world, world.initial().params, every, table.choices)
    )
    progress.step("evaluation", 1, steps, "base model")
    after = evaluate(world, server.params, every, table.choices)
    progress.step("evaluation", 2, steps, "server")
    each: dict[str, Figures] = {}
    for name in names:
        each[name] = evaluate(world, shelf.load(name, server.round).local, fewer, questions=False).figures
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


def _untrained(world: World) -> Hashable:
    """All that the base model's figures depend on; B = 0 makes them the same for any A of those factors."""
    whose, recipe = world.identity(), world.recipe
    prints = whose["model"]["fingerprint"], whose["data"]["fingerprint"]
    return (*prints, recipe.adapter, frozenset(world.initial().params), recipe.evaluate, recipe.train.threads)


def spread(some: Sequence[Figures]) -> Figures:
    """{"mean", "std", "n"} of every figure over models, unweighted; std divides by n - 1 and is empty for a single one."""
    if not some:
        return {"mean": {}, "std": {}, "n": 0}
    std = _over(some, lambda values: float(np.std(values, ddof=1))) if len(some) > 1 else {}
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
