"""What makes runs unlike each other apart from their method: one line each, so that nobody compares in the dark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fedrand.errors import suggested
from fedrand.report.amounts import flat, pick, plain
from fedrand.report.finding import Finding
from fedrand.report.load import Json
from fedrand.report.threat import Threat

SAME = ("model", "adapter", "data", "train", "evaluate", "privacy", "audit")


@dataclass(frozen=True)
class Read:
    """One run as read from its folder.

    audit: None when not audited; leaks: the headline finding of each model; shown: these and the others that the audit
    kept by item; threats: the verdict on each adversary; words: what the audit's terms mean.
    """

    name: str
    path: str
    results: Json
    audit: Json | None
    environment: Json
    recipe: Json
    leaks: Mapping[str, Finding]
    shown: Sequence[Finding] = ()
    threats: Sequence[Threat] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def audited(self) -> bool:
        return self.audit is not None


def warnings(runs: list[Read]) -> list[str]:
    """Lines for recipes, base model and data that differ, seeds, audits that are missing or use another attack."""
    return [*_settings(runs), *_options(runs), *_seeds(runs), *_audits(runs)]


def _settings(runs: list[Read]) -> list[str]:
    known = [_setting(run) for run in runs]
    keys = dict.fromkeys(key for setting in known for key in setting)
    return [
        f"the runs differ in {key}: {_each(runs, [setting.get(key) for setting in known])}"
        for key in keys
        if len({plain(setting.get(key)) for setting in known}) > 1
    ]


def _options(runs: list[Read]) -> list[str]:
    """Options in which runs of one method differ."""
    lines = []
    for method in dict.fromkeys(run.results.get("method") for run in runs):
        own = [run for run in runs if run.results.get("method") == method]
        each = [flat(run.recipe.get("strategy") or {}) for run in own]
        lines += [
            f"the runs differ in strategy.{key}: {_each(own, [options.get(key) for options in each])}"
            for key in dict.fromkeys(key for options in each for key in options)
            if len({plain(options.get(key)) for options in each}) > 1
        ]
    return lines


def _setting(run: Read) -> dict[str, object]:
    tables = {name: run.recipe.get(name, {}) for name in SAME}
    recipe = flat({**tables, "audit": pick(run.audit, "settings") or tables["audit"]})
    hashes = {f"{what}.fingerprint": pick(run.environment, what, "fingerprint") for what in ("model", "data")}
    return {key: value for key, value in (recipe | hashes).items() if value != {}}


def _seeds(runs: list[Read]) -> list[str]:
    seeds: list[object] = [run.results.get("seed") for run in runs]
    if None in seeds:
        return [f"no seed is known of {', '.join(run.name for run in runs if run.results.get('seed') is None)}"]
    return [f"the runs differ in seed: {_each(runs, seeds)}"] if len(set(map(plain, seeds))) > 1 else []


def _audits(runs: list[Read]) -> list[str]:
    lines = [f"{run.name} is not audited; `{suggested('audit', run.path)}` does it" for run in runs if not run.audited]
    for model in dict.fromkeys(model for run in runs for model in run.leaks):
        names = [f"{run.leaks[model].threat} {run.leaks[model].name}" for run in runs if model in run.leaks]
        if len(set(names)) > 1:
            lines.append(f"the headline attacks on the {model} differ: {', '.join(dict.fromkeys(names))}")
    return lines


def _each(runs: list[Read], found: list[object]) -> str:
    return "; ".join(f"{run.name} {plain(value)}" for run, value in zip(runs, found, strict=True))
