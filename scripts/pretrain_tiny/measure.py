"""How well a model sees: loss with the right and a wrong image, captions, multiple choice; through fedrand's engine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from fedrand.choices import choice_scores
from fedrand.data import EmojiPack, Example, emoji_qa
from fedrand.generate import captions
from fedrand.metrics import caption_scores
from fedrand.models.features import ImageFeatures
from fedrand.models.vlm import VisionLanguageModel
from fedrand.score import token_scores

TASKS = ("kind", "name", "name-hard")


@dataclass(frozen=True)
class Sight:
    """Nats per answer token, weighted by tokens; `right_wins`: share of images whose own mean loss is the lower one."""

    right: float
    wrong: float
    right_wins: float
    images: int


def strangers(examples: Sequence[Example]) -> list[Example]:
    """Each example with the image of another group: the one half of the list further on, or the next after it that
    fits. Fixed, and no image stays where it was."""
    count = len(examples)
    return [
        replace(
            one,
            image=next(
                other.image
                for k in range(count)
                if (other := examples[(i + count // 2 + k) % count]).group != one.group
            ),
        )
        for i, one in enumerate(examples)
    ]


def sight(vlm: VisionLanguageModel, features: ImageFeatures, examples: Sequence[Example]) -> Sight:
    """Caption loss with the right image against the image of a stranger."""
    right, wrong = ([-s.logp for s in _scores(vlm, features, some)] for some in (examples, strangers(examples)))
    wins = fmean(r.mean() < w.mean() for r, w in zip(right, wrong, strict=True))
    return Sight(np.concatenate(right).mean().item(), np.concatenate(wrong).mean().item(), wins, len(examples))


def _scores(vlm: VisionLanguageModel, features: ImageFeatures, examples: Sequence[Example]):
    return token_scores(vlm, features, [vlm.encode(example) for example in examples])


def cider_d(vlm: VisionLanguageModel, features: ImageFeatures, examples: Sequence[Example]) -> float:
    """CIDEr-D x 100 of greedy captions, up to 32 tokens."""
    prompts = [vlm.encode(example, with_answer=False) for example in examples]
    said = captions(vlm, features, prompts, max_new_tokens=32)
    return 100 * caption_scores(said, [example.references for example in examples]).cider_d


def accuracy(vlm: VisionLanguageModel, features: ImageFeatures, questions: Sequence[Example]) -> tuple[float, float]:
    """Share of questions whose right choice is the likeliest: as it is, and against its likelihood without the image."""
    scores = choice_scores(vlm, features, questions)
    right = [question.choices.index(question.answer) for question in questions]
    raw = fmean(int(np.argmax(s.raw)) == i for s, i in zip(scores, right, strict=True))
    return raw, fmean(int(np.argmax(s.pmi)) == i for s, i in zip(scores, right, strict=True))


def report(vlm: VisionLanguageModel, pack: EmojiPack, split: str) -> str:
    """All figures of one split, a line each."""
    features, examples = ImageFeatures(vlm), pack[split]
    seen = sight(vlm, features, examples)
    lines = [
        f"split {split}: {seen.images} images",
        f"NLL per answer token: right image {seen.right:.3f}, wrong image {seen.wrong:.3f}, gap {seen.wrong - seen.right:.3f} nat",
        f"right image beats wrong: {seen.right_wins:.1%}",
        f"CIDEr-D x 100 of greedy captions: {cider_d(vlm, features, examples):.1f}",
    ]
    for task in TASKS:
        questions = emoji_qa(pack, task, split)
        raw, pmi = accuracy(vlm, features, questions)
        lines.append(f"{task} among four: raw {raw:.3f}, PMI {pmi:.3f} ({len(questions)} questions)")
    return "\n".join(lines)
