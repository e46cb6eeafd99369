"""The datasets a recipe can name: the pool that clients share out, and what models are measured on."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from fedrand.data.emoji import emoji_qa, load_emoji
from fedrand.data.example import DataError, Example
from fedrand.data.folder import load_folder
from fedrand.data.prompts import template
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.settings import DataTable

Examples = tuple[Example, ...]
TEST_SHARE = 0.2  # of a folder's groups, where its table names no test split


@dataclass(frozen=True)
class Dataset:
    """pool: dealt out to the clients. splits: evaluation by name. questions: multiple choice by kind. auxiliary: of the
    same kind and no client's; an adversary may train on it."""

    pool: Examples
    splits: Mapping[str, Examples]
    questions: Mapping[str, Examples]
    auxiliary: Examples = ()


def load_dataset(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """The named dataset, cut to `limit` and with the recipe's own prompt on its captions where it has one."""
    whole = DATASETS[table.name](table, seed, progress)

    def cut(examples: Examples, name: str) -> Examples:
        return some(examples, table.limit or len(examples), stream(seed, "limit", name))

    splits = {name: _prompted(cut(examples, name), table.prompt) for name, examples in whole.splits.items()}
    questions = {name: cut(examples, name) for name, examples in whole.questions.items()}
    auxiliary = _prompted(cut(whole.auxiliary, "auxiliary"), table.prompt)
    return Dataset(_prompted(cut(whole.pool, "pool"), table.prompt), splits, questions, auxiliary)


def some(examples: Examples, count: int, rng: np.random.Generator) -> Examples:
    """At most `count` examples by whole groups drawn at random, in their own order; one group at least."""
    sizes = Counter(example.unit for example in examples)
    kept: set[str] = set()
    for unit in rng.permutation(sorted(sizes)).tolist():
        if not kept or sum(sizes[k] for k in kept) + sizes[unit] <= count:
            kept.add(unit)
    return tuple(example for example in examples if example.unit in kept)


def fingerprint(dataset: Dataset) -> str:
    """sha256 over every example's text and the bytes of every image file."""
    digest = hashlib.sha256()
    everything = (dataset.pool, *dataset.splits.values(), *dataset.questions.values())
    for example in (example for examples in everything for example in examples):
        text = {**asdict(example), "image": example.image.member if example.image else ""}
        digest.update(json.dumps(text, sort_keys=True).encode())
    for path in sorted({e.image.path for examples in everything for e in examples if e.image}):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _prompted(examples: Examples, prompt: str) -> Examples:
    if not prompt:
        return examples
    template(prompt)  # refuses an unknown name or a text without an image slot
    return tuple(example if example.choices else replace(example, prompt=prompt) for example in examples)


def _emoji(table: DataTable, seed: int, progress: Progress) -> Dataset:
    pack = load_emoji()
    questions = {kind: emoji_qa(pack, kind, "test") for kind in ("kind", "name", "name-hard")}
    return Dataset(pack["federated"], {"test": pack["test"], "ood": pack["ood"]}, questions, pack["validation"])


def _folder(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """Rows marked test (and ood) are measured on, all others go to clients; unmarked, a share is set apart."""
    everything = tuple(load_folder(Path(table.path)))
    splits = {name: tuple(e for e in everything if e.split == name) for name in ("test", "ood")}
    if not splits["test"]:
        count = max(1, round(TEST_SHARE * len(everything)))
        splits["test"] = some(everything, count, stream(seed, "test"))
        progress.say(f"{table.path} marks no test split; {len(splits['test'])} examples are set apart by seed {seed}")
    aside = {example.id for examples in splits.values() for example in examples}
    pool = tuple(example for example in everything if example.id not in aside)
    if not pool:
        raise DataError(f"{table.path} leaves no example to train on; mark fewer as test or add more")
    asked = {"asked": tuple(example for example in splits["test"] if example.choices)}
    return Dataset(pool, _filled(splits), _filled(asked))


def _filled(named: Mapping[str, Examples]) -> dict[str, Examples]:
    return {name: examples for name, examples in named.items() if examples}


DATASETS: Mapping[str, Callable[[DataTable, int, Progress], Dataset]] = {"emoji": _emoji, "folder": _folder}
