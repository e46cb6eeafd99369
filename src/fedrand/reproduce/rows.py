"""A row of a table as a recipe: the method, the data it is measured on, and what no table prints left out."""

import json
from collections.abc import Mapping
from functools import reduce
from pathlib import Path

from fedrand.errors import InputError
from fedrand.recipe import Recipe, load_recipe

# FedPer shares the 2 or 4 layers nearest the output of the paper's 20, and 1 or 2 of the demo model's 4.
METHODS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "demo": {
        "FedPer 2": ("strategy.name=fedper", "strategy.layers=1"),
        "FedPer 4": ("strategy.name=fedper", "strategy.layers=2"),
    },
    "paper": {
        "FedPer 2": ("strategy.name=fedper", "strategy.layers=2"),
        "FedPer 4": ("strategy.name=fedper", "strategy.layers=4"),
    },
    "both": {
        "FedAvg": ("strategy.name=fedavg",),
        "FedPara": ("strategy.name=fedpara",),
        "FedRand": ("strategy.name=fedrand",),
        "FedRand rho 0.3": ("strategy.name=fedrand", "strategy.rho=0.3"),
        "FedRand rho 0.7": ("strategy.name=fedrand", "strategy.rho=0.7"),
        "without past": ("strategy.name=fedrand", "strategy.past=false"),
        "without normalization": ("strategy.name=fedrand", "strategy.normalize=false"),
        "local only": ("strategy.name=local",),
        "centralised": ("strategy.name=centralised",),
    },
}
# Which shipped recipe stands for captioning and for question answering.
DATA: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "demo": {"captions": ("emoji",), "questions": ("emoji", "data.name=emoji-qa")},
    "paper": {"captions": ("coco",), "questions": ("scienceqa",)},
}
# Where the paper's data lie in the folder that --data names.
PLACES: Mapping[str, Mapping[str, str]] = {
    "captions": {"data.path": "coco", "data.ood_path": "nocaps"},
    "questions": {"data.path": "ScienceQA"},
}
# Takes minutes, and no table has a figure of it; the scores of the tables' attacks do not depend on it.
SPARED: Mapping[str, tuple[str, ...]] = {
    "captions": ("evaluate.choices=false", "evaluate.ood=server", "audit.shadows=0", "audit.uploads=1"),
    "questions": ("evaluate.choices=false", "evaluate.ood=nobody"),
}
DEMO = ("evaluate.client_captions=120", "audit.bootstrap=400")


def recipe_of(
    scale: str, data: str, method: str, seed: int, overrides: tuple[str, ...] = (), folder: Path | None = None
) -> Recipe:
    """The recipe of one run; folder: where the paper's data lie. InputError when an override would make it another row,
    or another seed, than it is shown as."""
    name, *more = DATA[scale][data]
    chosen = METHODS["both"].get(method) or METHODS[scale][method]
    own = [*SPARED[data], *(DEMO if scale == "demo" else ()), *more, *chosen, f"seed={seed}"]
    own += [f"{key}={json.dumps(str(place))}" for key, place in places(data, folder).items()] if folder else []
    made, meant = (load_recipe(name, [*own, *rest]) for rest in (overrides, ()))
    for key in _TOLD_APART_BY:
        if (found := _at(made, key)) != _at(meant, key):
            raise InputError(f"--set would make {key} {found} in the row '{method}', seed {seed}; leave {key} out")
    if made.method().pooled:
        return load_recipe(name, [*own, *overrides, f"train.rounds={_rounds_of_all(made)}"])
    return made


def places(data: str, folder: Path) -> dict[str, Path]:
    """The keys of a recipe that name folders, and what they name."""
    return {key: folder / name for key, name in PLACES[data].items()}


def _rounds_of_all(recipe: Recipe) -> int:
    """Rounds over everyone's data in which the model sees as many examples as in the recipe's with some of the clients."""
    train = recipe.train
    if not recipe.data.clients:
        raise InputError("the tables' data name no clients, so data.partition=client deals nothing out; leave it out")
    return max(1, round(train.rounds * train.clients_per_round / recipe.data.clients))


_TOLD_APART_BY = sorted(
    {"seed", "data.name"}
    | {text.partition("=")[0] for rows in METHODS.values() for options in rows.values() for text in options}
)


def _at(recipe: Recipe, key: str) -> object:
    return reduce(lambda table, name: getattr(table, name, None), key.split("."), recipe)


def run_name(data: str, method: str, seed: int) -> str:
    """A folder's name, such as captions-fedper-2-seed0."""
    words = "".join(letter if letter.isalnum() else "-" for letter in method.lower())
    return f"{data}-{words}-seed{seed}"
