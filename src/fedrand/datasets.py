"""The datasets a recipe can name: the pool that clients share out, and what models are measured on."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from fedrand.data.coco import load_coco
from fedrand.data.emoji import emoji_qa, load_emoji
from fedrand.data.example import DataError, Example
from fedrand.data.folder import load_folder
from fedrand.data.hub import load_hub, on_hub
from fedrand.data.nocaps import load_nocaps
from fedrand.data.prompts import asks, template
from fedrand.data.scienceqa import load_scienceqa
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.settings import DataTable

Examples = tuple[Example, ...]
TRAINED, VALIDATION = ("", "train"), ("val", "validation")  # a folder's splits; validation is never trained on
TEST_SHARE = 0.2  # of a folder's groups, where its table names no test split


@dataclass(frozen=True)
class Dataset:
    """pool: dealt out to the clients. splits: evaluation by name. questions: multiple choice by kind. auxiliary: of the
    same kind and no client's; an adversary may train on it."""

    pool: Examples
    splits: Mapping[str, Examples]
    questions: Mapping[str, Examples]
    auxiliary: Examples = ()

    @property
    def shown(self) -> Examples:
        """What a run trains on or describes."""
        return (*self.pool, *(example for examples in self.splits.values() for example in examples))


def load_dataset(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """The named dataset, cut to `limit` and with the recipe's own prompt on its captions where it has one."""
    whole = _prompted(DATASETS[table.name](table, seed, progress), table)

    def cut(examples: Examples, name: str) -> Examples:
        return some(examples, table.limit or len(examples), stream(seed, "limit", name))

    splits = {name: cut(examples, name) for name, examples in whole.splits.items()}
    questions = {name: cut(examples, name) for name, examples in whole.questions.items()}
    return Dataset(cut(whole.pool, "pool"), splits, questions, cut(whole.auxiliary, "auxiliary"))


def some(examples: Examples, count: int, rng: np.random.Generator) -> Examples:
    """At most `count` examples by whole groups drawn at random, in their own order; one group at least."""
    sizes = Counter(example.unit for example in examples)
    kept: set[str] = set()
    size = 0
    for unit in rng.permutation(sorted(sizes)).tolist():
        if not kept or size + sizes[unit] <= count:
            kept.add(unit)
            size += sizes[unit]
    return tuple(example for example in examples if example.unit in kept)


def parts(examples: Examples, sizes: Sequence[int], rng: np.random.Generator) -> list[Examples]:
    """Disjoint random parts of so many examples each, groups whole, in their own order; the rest is left out.

    Where there are fewer than the sizes' sum, parts of the same proportions.
    """
    share = min(1.0, len(examples) / sum(sizes))
    room = [max(1, int(size * share)) for size in sizes]
    counts = Counter(example.unit for example in examples)
    home: dict[str, int] = {}
    for unit in rng.permutation(sorted(counts)).tolist():
        part = next((index for index, left in enumerate(room) if counts[unit] <= left), None)
        if part is not None:
            home[unit] = part
            room[part] -= counts[unit]
    return [tuple(e for e in examples if home.get(e.unit) == index) for index in range(len(sizes))]


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


def _prompted(dataset: Dataset, table: DataTable) -> Dataset:
    """With the recipe's own prompt on questions when it has a slot for one, on captions when it has none."""
    if not table.prompt:
        return dataset
    asking = asks(template(table.prompt))  # refuses an unknown name or a text without an image slot
    everything = (dataset.pool, *dataset.splits.values(), *dataset.questions.values())
    if not any(asking == bool(example.question) for examples in everything for example in examples):
        fault = "has a question's slot, but these are captions" if asking else "has no {question} or {options} slot"
        raise DataError(f"prompt '{table.prompt}' {fault}; {table.name} would never use it, so take another or none")

    def put(examples: Examples) -> Examples:
        return tuple(replace(e, prompt=table.prompt) if asking == bool(e.question) else e for e in examples)

    splits = {name: put(examples) for name, examples in dataset.splits.items()}
    questions = {name: put(asked) for name, asked in dataset.questions.items()}
    return Dataset(put(dataset.pool), splits, questions, put(dataset.auxiliary))


def _emoji(table: DataTable, seed: int, progress: Progress) -> Dataset:
    pack = load_emoji()
    questions = {kind: emoji_qa(pack, kind, "test") for kind in ("kind", "name", "name-hard")}
    return Dataset(pack["federated"], {"test": pack["test"], "ood": pack["ood"]}, questions, pack["validation"])


def _emoji_qa(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """The drawings as questions: the kind among four, in the ScienceQA prompt."""
    pack = load_emoji()
    pool, test, ood, auxiliary = (emoji_qa(pack, "kind", name) for name in ("federated", "test", "ood", "validation"))
    return Dataset(pool, {"test": test, "ood": ood}, {"kind": test}, auxiliary)


def _folder(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """Rows marked test (and ood) are measured on, all others go to clients; unmarked, a share is set apart."""
    return _measured(tuple(load_folder(Path(table.path))), table, seed, progress)


def _nocaps(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """One file without splits: a share is set apart."""
    return _measured(_nocaps_at(table.path, table.domain), table, seed, progress)


def _measured(everything: Examples, table: DataTable, seed: int, progress: Progress) -> Dataset:
    _refuse_unknown_splits(everything, table)
    splits = {name: tuple(e for e in everything if e.split == name) for name in ("test", "ood")}
    validation = tuple(e for e in everything if e.split in VALIDATION)
    pool = tuple(e for e in everything if e.split in TRAINED)
    if not splits["test"]:
        count = max(1, round(TEST_SHARE * len(pool)))
        splits["test"] = some(pool, count, stream(seed, "test")) if pool else ()
        progress.say(
            f"{table.path} marks no test split; {len(splits['test'])} of its examples set apart by seed {seed}"
        )
    aside = {example.id for example in splits["test"]}
    return replace(_dataset(tuple(e for e in pool if e.id not in aside), splits, table), auxiliary=validation)


def _refuse_unknown_splits(everything: Examples, table: DataTable) -> None:
    known = {*TRAINED, *VALIDATION, "test", "ood"}
    if wrong := next((example for example in everything if example.split not in known), None):
        raise DataError(
            f"{table.path}: example {wrong.id} is of split '{wrong.split}'; choose from train, validation, test, ood, or none"
        )


def _coco(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """The paper's parts of train2014, drawn by the seed; NoCaps as the out-of-domain split where its folder is given."""
    if on_hub(table.path):
        everything = tuple(load_hub(table.path, "captions", {table.source[:-4]: ""}))
    else:
        everything = tuple(load_coco(table.path, table.source, table.label_rule))
    pool, validation, test = parts(everything, table.sizes, stream(seed, "coco"))
    progress.say(
        f"{table.source}: {len(pool)} images to train on, {len(validation)} for validation, {len(test)} to test on"
    )
    ood = _nocaps_at(table.ood_path, table.domain) if table.ood_path else ()
    if table.ood_path and not ood:
        raise DataError(
            f"{table.ood_path} holds no image to measure on; leave data.ood_path out, or another data.domain"
        )
    splits = {"test": test, "validation": validation if table.validation else (), "ood": ood}
    return _dataset(pool, splits, table)


def _scienceqa(table: DataTable, seed: int, progress: Progress) -> Dataset:
    """The published splits, as the paper's figures are on them; pictures that stand on both sides are counted aloud."""
    if on_hub(table.path):
        names = {"train": "train", "validation": "val", "test": "test"}
        everything = tuple(load_hub(table.path, "scienceqa", names))
    else:
        everything = tuple(load_scienceqa(table.path))
    pool, validation, test = (tuple(e for e in everything if e.split == name) for name in ("train", "val", "test"))
    trained = {example.unit for example in pool}
    shared = sum(example.image is not None and example.unit in trained for example in test)
    counts = f"{len(pool)} questions to train on, {len(test)} to test on"
    progress.say(f"scienceqa: {counts}; {shared} of these share a picture with one trained on")
    return _dataset(pool, {"test": test, "validation": validation if table.validation else ()}, table)


def _nocaps_at(path: str, domain: str) -> Examples:
    if not on_hub(path):
        return tuple(load_nocaps(path, domain))
    found = tuple(load_hub(path, "captions", {"validation": ""}))
    if domain and not all(example.label for example in found):
        raise DataError(f"{path} does not say which domain an image is of; take the original file, or no data.domain")
    return tuple(example for example in found if not domain or example.label == domain)


def _dataset(pool: Examples, splits: Mapping[str, Examples], table: DataTable) -> Dataset:
    """The splits that hold something; questions with choices are asked by likelihood too."""
    if not pool:
        raise DataError(f"{table.path} leaves no example to train on; mark fewer as test or add more")
    if not splits["test"]:
        raise DataError(f"{table.path} leaves no example to test on; add more, or more of them to the test split")
    asked = {"asked": tuple(example for example in splits["test"] if example.choices)}
    return Dataset(pool, _filled(splits), _filled(asked))


def _filled(named: Mapping[str, Examples]) -> dict[str, Examples]:
    return {name: examples for name, examples in named.items() if examples}


DATASETS: Mapping[str, Callable[[DataTable, int, Progress], Dataset]] = {
    "emoji": _emoji,
    "emoji-qa": _emoji_qa,
    "folder": _folder,
    "scienceqa": _scienceqa,
    "coco": _coco,
    "nocaps": _nocaps,
}
