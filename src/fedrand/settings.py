"""The tables of a recipe, frozen and strict; a strategy's options are its function's own parameters."""

import inspect
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator

from fedrand.release import AsTrained, ClippedGaussian, Release
from fedrand.strategies import STRATEGIES
from fedrand.strategies.fedrand import SAFE_GROUP, senders_of_a
from fedrand.strategy import Strategy

Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Level = Annotated[float, Field(gt=0, lt=1)]
Percent = Annotated[int, Field(ge=0, le=100)]


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ModelTable(Table):
    """name: "tiny" (ships with the package), "smollm2" (put together from packages, once), a folder, or a hub id."""

    name: str = "tiny"
    revision: str = ""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    device: str = "cpu"


class AdapterTable(Table):
    """kind: "lora", s B A on each weight; "hadamard", s (B A) * (B2 A2) elementwise; "hadamard+1", s (B A) * (B2 A2 + 1);
    "auto", what the strategy is made for. rank: r. scale: s."""

    kind: Literal["auto", "lora", "hadamard", "hadamard+1"] = "auto"
    rank: Count = 8
    scale: Annotated[float, Field(gt=0, le=1e6)] = 1.0


# What lies at data.path, for the datasets that do not ship with the package.
PATHS = {
    "folder": "the folder that holds the images, or a table in it",
    "coco": "the folder that holds annotations/ and train2014/",
    "nocaps": "the folder that holds nocaps_val_4500_captions.json and images/",
    "scienceqa": "the folder that holds problems.json, pid_splits.json and images/",
}
ONLY_FOR = {
    "label_rule": ("coco",),
    "source": ("coco",),
    "sizes": ("coco",),
    "ood_path": ("coco",),
    "domain": ("coco", "nocaps"),
    "validation": ("coco", "scienceqa"),
}


class DataTable(Table):
    """clients: how many a partition makes; 0 where partition = "client" takes them from the data. limit: at most so many
    examples in all, 0 for no bound. holdout: a coin per group keeps about half of each client's pool untrained.

    path, ood_path: a folder, or "hub:OWNER/NAME". source, label_rule, sizes: of COCO; sizes are images to train on, to
    choose by and to test on, in that proportion where there are fewer. ood_path: NoCaps, as COCO's out-of-domain split;
    domain: of NoCaps, all for "". validation: measure on that split too.
    """

    name: Literal["emoji", "emoji-qa", "folder", "scienceqa", "coco", "nocaps"] = "emoji"
    path: str = ""
    ood_path: str = ""
    source: Literal["train2014", "val2014", "train2017", "val2017"] = "train2014"
    label_rule: Literal["lowest", "largest-area", "most-frequent"] = "lowest"
    domain: Literal["", "in-domain", "near-domain", "out-domain"] = ""
    sizes: Annotated[tuple[Count, Count, Count], BeforeValidator(_tuple)] = (50_000, 5_000, 5_000)
    validation: bool = False
    prompt: str = ""
    clients: Annotated[int, Field(ge=0)] = 12
    partition: Literal["dirichlet", "iid", "label", "client"] = "dirichlet"
    alpha: Positive = 0.5
    min_size: Count = 10
    holdout: bool = True
    limit: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_the_data_have(cls, tree: Any) -> Any:
        return {**tree, "clients": 0} if isinstance(tree, dict) and tree.get("partition") == "client" else tree

    @model_validator(mode="after")
    def _keys_fit_the_name(self) -> "DataTable":
        if not self.clients and self.partition != "client":
            raise ValueError('clients is 0, which stands for those of partition = "client"; choose 1 or more')
        if self.name in PATHS and not self.path:
            raise ValueError(f'name = "{self.name}" needs path, {PATHS[self.name]}; give it as data.path=FOLDER')
        for key, names in ONLY_FOR.items():
            if self.name not in names and getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f'{key} is for {" and ".join(names)}, not for name = "{self.name}"; remove it')
        return self


class StrategyTable(Table):
    """name, and the options of that strategy's function."""

    name: str

    def build(self) -> Strategy:
        options = self.model_dump(exclude={"name"})
        return STRATEGIES[self.name](**options)


class TrainTable(Table):
    """threads: torch threads; the bits of a run depend on it. max_steps: bound on a client's steps, 0 for none."""

    rounds: Count = 30
    clients_per_round: Count = 4
    min_clients: Count = 1
    lr: Annotated[float, Field(gt=0, le=100)] = 3e-4
    weight_decay: Annotated[float, Field(ge=0, le=100)] = 1e-6
    batch_size: Count = 8
    epochs: Count = 1
    max_steps: Annotated[int, Field(ge=0)] = 0
    threads: Annotated[int, Field(ge=1, le=1024)] = 1

    @model_validator(mode="after")
    def _minimum_within_the_draw(self) -> "TrainTable":
        if self.min_clients > self.clients_per_round:
            raise ValueError(f"min_clients is {self.min_clients}; choose from 1 to {self.clients_per_round}")
        return self


class EvaluateTable(Table):
    """client_captions: how many images of a split, a fixed sample, each client's model describes; 0 for none. every: the
    server's loss on the test split after so many rounds, 0 for only at the end. choices: multiple choice by likelihood
    too, of the base model and the server's. ood: who is measured out of domain; the base model goes with the server."""

    client_captions: Annotated[int, Field(ge=0)] = 60
    batch_size: Count = 64
    max_new_tokens: Count = 32
    every: Annotated[int, Field(ge=0)] = 0
    choices: bool = True
    ood: Literal["everyone", "server", "nobody"] = "everyone"


class AuditTable(Table):
    """attacks: "paper" (one of each, MaxRenyi of order 1/2 for every K and slice) or "all" orders. k: percentages of
    MaxRenyi-K% and Min-K%. renyi: "vlmia" keeps every probability in [1e-10, 1 - 1e-10], as the reference code does.
    shadows: models trained per attacked state for LiRA and RMIA, 0 for none. uploads: how many of each client's newest
    uploads gradients are taken for, 0 for all. sample: about how many members, and how many non-members, are attacked in
    all, 0 for everyone; the paper takes 300 of each. canaries: random records put into clients' data by a coin
    before training; 100 bound an epsilon usefully. bootstrap: resamples. level: of the confidence intervals."""

    attacks: Literal["paper", "all"] = "paper"
    k: Annotated[tuple[Percent, ...], BeforeValidator(_tuple)] = (0, 10, 100)
    renyi: Literal["exact", "vlmia"] = "exact"
    shadows: Annotated[int, Field(ge=0)] = 2
    uploads: Annotated[int, Field(ge=0)] = 4
    sample: Annotated[int, Field(ge=0)] = 0
    canaries: Annotated[int, Field(ge=0)] = 0
    bootstrap: Count = 1000
    level: Annotated[float, Field(ge=0.5, le=0.999)] = 0.95


class MemoryTable(Table):
    """Where things lie; no bit of a run hangs on it, so it may change between a run and its resumption.

    image_features: GiB of them held in memory; the rest lies in a file without a name in the user's cache folder."""

    image_features: Annotated[float, Field(ge=0)] = 4.0


class PrivacyTable(Table):
    """clip: L2 bound on the change of an upload, 0 for none. noise: multiplier of the Gaussian noise on it, whose standard
    deviation is noise * clip; 0 for none. delta: at which epsilon is told."""

    clip: Annotated[float, Field(ge=0)] = 0.0
    noise: Annotated[float, Field(ge=0)] = 0.0
    delta: Level = 1e-5

    @model_validator(mode="after")
    def _noise_needs_a_clip(self) -> "PrivacyTable":
        if self.noise and not self.clip:
            raise ValueError(
                f"noise is {self.noise} but clip is 0; noise without a bound protects nothing, so set clip"
            )
        return self

    def release(self) -> Release:
        return ClippedGaussian(self.clip, self.noise) if self.clip else AsTrained()


def _options(name: str) -> type[StrategyTable]:
    """The table of one strategy, read off its function's signature."""
    function = STRATEGIES[name]
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {"name": (Literal[name], ...)}
    for parameter in inspect.signature(function).parameters.values():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    return create_model(f"{name.title()}Table", __base__=StrategyTable, **fields)


AnyStrategy = Annotated[reduce(or_, map(_options, STRATEGIES)), Field(discriminator="name")]


class Recipe(Table):
    """One experiment, resolved: every value written out."""

    seed: Annotated[int, Field(ge=0)] = 0
    model: ModelTable = ModelTable()
    adapter: AdapterTable = AdapterTable()
    data: DataTable = DataTable()
    strategy: AnyStrategy  # type: ignore[valid-type]
    train: TrainTable = TrainTable()
    evaluate: EvaluateTable = EvaluateTable()
    audit: AuditTable = AuditTable()
    privacy: PrivacyTable = PrivacyTable()
    memory: MemoryTable = MemoryTable()

    @model_validator(mode="after")
    def _draw_within_the_clients(self) -> "Recipe":
        if self.data.partition != "client" and self.train.clients_per_round > self.data.clients:
            raise ValueError(
                f"train.clients_per_round is {self.train.clients_per_round} but data.clients is {self.data.clients}; "
                f"choose from 1 to {self.data.clients}"
            )
        return self

    @model_validator(mode="after")
    def _groups_within_the_draw(self) -> "Recipe":
        """A stratified draw's smaller group must reach `min_group`, or no half would ever be averaged."""
        asked, draw = getattr(self.strategy, "min_group", 0), self.train.clients_per_round
        if asked > draw:
            raise ValueError(
                f"strategy.min_group is {asked}, but {draw} clients train in a round; choose from 0 to {draw}"
            )
        if getattr(self.strategy, "draw", "") != "stratified":
            return self
        size = self.smaller_group
        if asked > size:
            raise ValueError(
                f"strategy.min_group is {asked}, but of {self.train.clients_per_round} clients a round only {size} send the "
                f"rarer half; choose from 1 to {size}, or ask more clients"
            )
        return self

    @property
    def smaller_group(self) -> int:
        """How many clients send the rarer half in a stratified draw; a half that none sends does not count."""
        draw = self.train.clients_per_round
        senders = senders_of_a(self.strategy.rho, draw)
        return min(count for count in (senders, draw - senders) if count)

    @property
    def clients_per_round(self) -> int:
        """How many are asked: one alone where it holds everyone's data."""
        return 1 if self.method().pooled else self.train.clients_per_round

    def method(self) -> Strategy:
        """The strategy with what its uploads pass before they leave, and its group size made to fit the draw."""
        made = replace(self.strategy.build(), release=self.privacy.release())
        if getattr(self.strategy, "draw", "") != "stratified" or self.strategy.min_group:
            return made
        return replace(made, aggregation=replace(made.aggregation, min_group=min(SAFE_GROUP, self.smaller_group)))
