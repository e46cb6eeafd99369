"""One of the paper's tables or figures: the runs it needs, its numbers beside the paper's, and its picture."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedrand.crew import Job, carry_out
from fedrand.datasets import load_dataset
from fedrand.errors import InputError
from fedrand.progress import Progress
from fedrand.reproduce.experiments import EXPERIMENTS, Experiment
from fedrand.reproduce.grid import Grid
from fedrand.reproduce.pictures import draw, refuse_without_matplotlib
from fedrand.reproduce.rows import PLACES, places, recipe_of, run_name
from fedrand.reproduce.written import as_csv, as_markdown
from fedrand.tensorfile import write_atomic

SCALES = ("demo", "paper")


def reproduce(
    name: str,
    scale: str,
    seeds: int,
    out: Path,
    overrides: Sequence[str],
    workers: int,
    progress: Progress,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Make what is missing of the runs, then write NAME.csv, .md, .json, .svg and .png into `out`.

    Runs lie in out/runs; one that is there is used again, one that was stopped is gone on with. folder: where the paper's
    data lie, for the scale "paper".
    """
    if name not in EXPERIMENTS:
        raise InputError(f"no table or figure '{name}'; choose from {', '.join(EXPERIMENTS)}")
    refuse_without_matplotlib()
    experiment = EXPERIMENTS[name]
    _check_data(experiment, scale, overrides, folder)
    jobs = _jobs(experiment, scale, range(seeds), out / "runs", tuple(overrides), folder)
    progress.say(f"{name}: {experiment.title}; {len(jobs)} runs, {workers} at once")
    if scale == "paper":
        _read_data(jobs, progress)
    found = carry_out({job.folder.name: job for job in jobs.values()}, workers, progress)
    grid = Grid(name, experiment, {key: found[job.folder.name] for key, job in jobs.items()}, range(seeds))
    return _written(grid, _command(name, scale, seeds, overrides, folder), out)


def _check_data(experiment: Experiment, scale: str, overrides: Sequence[str], folder: Path | None) -> None:
    """Before the first of hours: the paper's data have to be named, and to be there."""
    if scale == "demo":
        if folder:
            raise InputError("--data is for --scale paper; the demo's data ship")
        return
    if folder is None:
        if any(text.startswith("data.path=") for text in overrides):
            return
        raise InputError(f"--scale paper reads the paper's data: give --data FOLDER, in which {_LYING} lie")
    for place in (place for data in experiment.data for place in places(data, folder).values()):
        if not place.is_dir():
            raise InputError(f"{place} is no folder; --data names the one in which {_LYING} lie")


_LYING = ", ".join(dict.fromkeys(name for some in PLACES.values() for name in some.values()))


def _read_data(jobs: Mapping[tuple[str, str, int], Job], progress: Progress) -> None:
    """Each of the data sets whole, where a run of it is still to begin: DataError names a broken file now, not after the
    runs on another one."""
    waiting = {data: job for (data, _, _), job in jobs.items() if not job.folder.exists()}
    for job in waiting.values():
        load_dataset(job.recipe.data, job.recipe.seed, progress)


def _jobs(
    experiment: Experiment,
    scale: str,
    seeds: Sequence[int],
    runs: Path,
    overrides: tuple[str, ...],
    folder: Path | None,
) -> dict[tuple[str, str, int], Job]:
    """By data, method and seed; seed by seed, so that a stopped experiment has whole seeds."""
    methods = dict.fromkeys((*experiment.rows, *experiment.extra, experiment.against))
    return {
        (data, method, seed): Job(
            recipe_of(scale, data, method, seed, overrides, folder),
            runs / run_name(data, method, seed),
            audited=experiment.audited and data == "captions",
        )
        for seed in seeds
        for method in methods
        for data in experiment.data
    }


def _command(name: str, scale: str, seeds: int, overrides: Sequence[str], folder: Path | None) -> str:
    given = ["--data", str(folder)] if folder else []
    more = [word for text in overrides for word in ("--set", text)]
    return shlex.join(["fedrand", "reproduce", name, "--scale", scale, *given, "--seeds", str(seeds), *more])


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
