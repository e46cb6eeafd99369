"""The emoji pack: real drawings by three vendors, with captions, and multiple-choice tasks made from it.

Built by scripts/build_emoji_pack.py. `base` is for pre-training, by three vendors; the others hold Noto and
Twemoji: `federated` for the clients, `validation` to choose by, `test` from the same distribution, `ood`
whole subcategories that occur nowhere else. A plain shuffle of groups made the first four.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedrand.data.example import DataError, Example, ImageSource
from fedrand.randomness import stream

FOLDER = Path(__file__).parents[1] / "assets" / "emoji"
SPLITS = ("base", "validation", "federated", "test", "ood")


@dataclass(frozen=True)
class EmojiItem:
    """One emoji as the pack describes it. All variants of one concept share kind, name and keywords."""

    id: str  # code points, "1f600"
    group: str
    split: str
    category: str
    subcategory: str
    vendors: tuple[str, ...]
    kind: str  # readable subcategory, "sea animal"
    name: str
    references: tuple[str, ...]  # "kind, name, keywords" from CLDR, the same from emojilib, the name alone
    keywords: tuple[str, ...]  # CLDR, most common first
    more_keywords: tuple[str, ...]  # emojilib


@dataclass(frozen=True)
class EmojiPack:
    """The examples of every split, and the item behind each example's id ("noto/1f600")."""

    splits: Mapping[str, tuple[Example, ...]]
    items: Mapping[str, EmojiItem]

    def __getitem__(self, split: str) -> tuple[Example, ...]:
        if split not in self.splits:
            raise DataError(f"the emoji pack has no split '{split}'; choose from {', '.join(self.splits)}")
        return self.splits[split]


def load_emoji(folder: Path = FOLDER) -> EmojiPack:
    """The pack that ships with fedrand; an example per drawing, label = category. Opens no image."""
    text = (folder / "items.jsonl").read_text(encoding="utf-8")
    items = [_item(json.loads(line)) for line in text.splitlines()]
    pairs = [(f"{vendor}/{item.id}", item) for item in items for vendor in item.vendors]
    splits = {s: tuple(_example(folder, n, i) for n, i in pairs if i.split == s) for s in SPLITS}
    return EmojiPack(splits=splits, items=dict(pairs))


def _item(line: Mapping[str, Any]) -> EmojiItem:
    lists = ("vendors", "references", "keywords", "more_keywords")
    fields: dict[str, Any] = {**line, **{name: tuple(line[name]) for name in lists}}
    return EmojiItem(**fields)


def _example(folder: Path, name: str, item: EmojiItem) -> Example:
    return Example(
        id=name,
        image=ImageSource(folder / "images.zip", f"{name}.webp"),
        prompt="coco",
        answer=item.references[0],
        references=item.references,
        label=item.category,
        sublabel=item.subcategory,
        group=item.group,
        split=item.split,
    )


@dataclass(frozen=True)
class _Task:
    question: str
    text: Callable[[EmojiItem], str]  # what is chosen between
    rival: Callable[[EmojiItem, EmojiItem], bool]  # (right, other): may `other` stand beside it
    whole_pack: bool = False  # where the wrong choices come from: the split, or all splits


_TASKS = {
    "kind": _Task("What kind of thing is this?", lambda i: i.kind, lambda a, b: a.kind != b.kind),
    "name": _Task("What is this?", lambda i: i.name, lambda a, b: a.category != b.category),
    # A split holds too few of most subcategories, so wrong names come from every split, trained ones too.
    "name-hard": _Task("What is this?", lambda i: i.name, lambda a, b: a.subcategory == b.subcategory, True),
}
_CHOICES = 4


def emoji_qa(pack: EmojiPack, kind: str, split: str, seed: int = 0) -> tuple[Example, ...]:
    """Multiple choice among four, in the ScienceQA prompt; the answer is the right choice's text.

    `kind`: the kind among the split's kinds. `name`: the name among names of other categories. `name-hard`:
    names of its own subcategory; an image whose subcategory has fewer than four names is left out.
    """
    if kind not in _TASKS:
        raise DataError(f"unknown emoji task '{kind}'; choose from {', '.join(_TASKS)}")
    task, rng = _TASKS[kind], stream(seed, "emoji-qa", kind, split)
    examples = pack[split]
    pool = _distinct(pack, [e for s in pack.splits for e in pack[s]] if task.whole_pack else examples)
    asked = (_ask(e, pack.items[e.id], task, pool, rng) for e in examples)
    return tuple(question for question in asked if question is not None)


def _distinct(pack: EmojiPack, examples: Sequence[Example]) -> list[EmojiItem]:
    """An item per name, in order."""
    return list({pack.items[e.id].name: pack.items[e.id] for e in examples}.values())


def _ask(
    example: Example, right: EmojiItem, task: _Task, pool: Sequence[EmojiItem], rng: np.random.Generator
) -> Example | None:
    answer = task.text(right)
    rivals = {task.text(other) for other in pool if other.group != right.group and task.rival(right, other)}
    wrong = sorted(rivals - {answer})
    if len(wrong) < _CHOICES - 1:
        return None
    drawn: list[int] = rng.choice(len(wrong), _CHOICES - 1, replace=False).tolist()
    shown = [answer, *(wrong[i] for i in drawn)]
    return replace(
        example,
        prompt="scienceqa",
        question=task.question,
        choices=tuple(shown[int(i)] for i in rng.permutation(_CHOICES)),
        answer=answer,
        references=(answer,),
    )
