"""One of the paper's tables or figures: the runs it needs, its numbers beside the paper's, and its picture."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedrand.crew import Job, carry_out
from fedrand.errors import InputError
from fedrand.progress import Progress
from fedrand.reproduce.experiments import EXPERIMENTS, Experiment, recipe_of, run_name
from fedrand.reproduce.grid import Grid
from fedrand.reproduce.pictures import draw, refuse_without_matplotlib
from fedrand.reproduce.written import as_csv, as_markdown
from fedrand.tensorfile import write_atomic

SCALES = ("demo", "paper")


def reproduce(
    name: str, scale: str, seeds: int, out: Path, overrides: Sequence[str], workers: int, progress: Progress
) -> dict[str, Any]:
    """Make what is missing of the runs, then write NAME.csv, .md, .json, .svg and .png into `out`.

    Runs lie in out/runs; one that is there is used again, one that was stopped is gone on with.
    """
    if name not in EXPERIMENTS:
        raise InputError(f"no table or figure '{name}'; choose from {', '.join(EXPERIMENTS)}")
    refuse_without_matplotlib()
    experiment = EXPERIMENTS[name]
    jobs = _jobs(experiment, scale, range(seeds), out / "runs", tuple(overrides))
    progress.say(f"{name}: {experiment.title}; {len(jobs)} runs, {workers} at once")
    found = carry_out({job.folder.name: job for job in jobs.values()}, workers, progress)
    grid = Grid(name, experiment, {key: found[job.folder.name] for key, job in jobs.items()}, range(seeds))
    return _written(grid, _command(name, scale, seeds, overrides), out)


def _jobs(
    experiment: Experiment, scale: str, seeds: Sequence[int], folder: Path, overrides: tuple[str, ...]
) -> dict[tuple[str, str, int], Job]:
    """By data, method and seed; seed by seed, so that a stopped experiment has whole seeds."""
    methods = dict.fromkeys((*experiment.rows, *experiment.extra, experiment.against))
    return {
        (data, method, seed): Job(
            recipe_of(scale, data, method, seed, overrides),
            folder / run_name(data, method, seed),
            audited=experiment.audited and data == "captions",
        )
        for seed in seeds
        for method in methods
        for data in experiment.data
    }


def _command(name: str, scale: str, seeds: int, overrides: Sequence[str]) -> str:
    return " ".join(
        ["fedrand reproduce", name, f"--scale {scale}", f"--seeds {seeds}", *(f"--set {text}" for text in overrides)]
    )


def _written(grid: Grid, command: str, out: Path) -> dict[str, Any]:
    document = {
        "name": grid.name,
        "title": grid.experiment.title,
        "command": command,
        "seeds": list(grid.seeds),
        "lines": [_plain(line) for line in grid.lines()],
    }
    write_atomic(out / f"{grid.name}.csv", as_csv(grid))
    write_atomic(out / f"{grid.name}.md", as_markdown(grid, command))
    write_atomic(out / f"{grid.name}.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    for suffix, data in draw(grid).items():
        write_atomic(out / f"{grid.name}.{suffix}", data)
    return document


def _plain(line: Any) -> dict[str, Any]:
    here, change = (vars(one) if one else None for one in (line.here, line.change))
    return {**vars(line), "here": here, "change": change, "verdict": line.verdict}
