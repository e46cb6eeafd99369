"""Several runs at once, by processes that take one after another: the parent shows what they tell, and one that fails
stops the others.

A run that is there already is used again or gone on with, so a crew that was stopped goes on where it was.
"""

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedrand.errors import InputError, RunError
from fedrand.federation import TooFewClients
from fedrand.progress import Event, Progress, prefixed
from fedrand.recipe import Recipe, differences

if TYPE_CHECKING:
    from fedrand.resident import Resident
    from fedrand.runfolder import RunFolder

Found = dict[str, dict[str, Any]]


class Job(NamedTuple):
    """One run: its recipe, its folder, and whether it is audited too."""

    recipe: Recipe
    folder: Path
    audited: bool = True


class Worker(NamedTuple):
    """A process, and where its orders are sent."""

    process: BaseProcess
    orders: Any


def carry_out(jobs: Mapping[str, Job], workers: int, progress: Progress) -> Found:
    """Run, audit and report every job, `workers` at once; returns {name: {"results", "audit"}} in the jobs' order.

    InputError when a folder holds a run of another recipe; RunError when a process was ended from outside.
    """
    for name, job in jobs.items():
        _check(name, job, progress)
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    waiting = iter(jobs.items())
    crew = [_hired(context, told) for _ in range(min(workers, len(jobs)))]
    progress.say(
        f"starting {len(crew)} processes; each loads PyTorch and the model, some ten seconds of silence, then sees the images"
    )
    idle, busy = list(crew), dict[str, Worker]()
    found: Found = {}
    try:
        while len(found) < len(jobs):
            for name, job in islice(waiting, len(idle)):
                plain = job.recipe.model_dump(mode="json")  # a recipe's class is made at run time and cannot be sent
                busy[name] = idle.pop()
                busy[name].orders.send((name, plain, job.folder, job.audited))
            for name, result in _news({name: worker.process for name, worker in busy.items()}, told, progress):
                found[name] = result
                idle.append(busy.pop(name))
                progress.step("runs", len(found), len(jobs), name)
    finally:
        for worker in crew:
            worker.process.terminate()  # a run survives it at any moment
            worker.process.join()
    return {name: found[name] for name in jobs}


def _hired(context: Any, told: Any) -> Worker:
    theirs, ours = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, told), daemon=True)
    process.start()
    return Worker(process, ours)


def _check(name: str, job: Job, progress: Progress) -> None:
    from fedrand.runfolder import RunFolder

    run = RunFolder(job.folder)
    if not run.is_run:
        return
    _refuse_another(run, job)
    progress.say(f"{name}: {job.folder} is there; it is {'used again' if run.finished else 'gone on with'}")


def _refuse_another(run: "RunFolder", job: Job) -> None:
    if changed := list(differences(run.recipe.model_dump(mode="json"), job.recipe.model_dump(mode="json"))):
        raise InputError(f"{job.folder} holds a run of another recipe ({changed[0]}); name another folder with --out")


def _news(running: Mapping[str, BaseProcess], told: Any, progress: Progress) -> Iterator[tuple[str, dict[str, Any]]]:
    """What one process hands in, if it is a result; news of its progress is shown, its failure raised."""
    alive = {name: worker.is_alive() for name, worker in running.items()}  # asked before the queue is read
    try:
        name, what = told.get(timeout=0.5)
    except queue.Empty:
        if lost := [name for name in running if not alive[name]]:
            by_signal = (running[lost[0]].exitcode or 0) < 0
            why = "was ended, perhaps for want of memory" if by_signal else "broke; how, is said above"
            raise RunError(f"the process of {lost[0]} {why}") from None
        return
    if isinstance(what, Event):
        progress.sink(prefixed(what, name))
    elif isinstance(what, BaseException):
        raise what
    else:
        yield name, what


def _work(orders: Any, told: Any) -> None:
    """Jobs one after another, in a process of their own that is ended from outside: Ctrl-C is the parent's to answer, and
    a failure is told as any news."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from fedrand.resident import Resident

    resident = Resident()
    while True:
        name, recipe, folder, audited = orders.recv()
        job = Job(Recipe.model_validate(recipe), folder, audited)
        progress = Progress(partial(_tell, told, name))
        try:
            told.put((name, _whole(job, progress, resident)))
        except (InputError, RunError, TooFewClients, OSError) as error:
            told.put((name, error))


def _tell(told: Any, name: str, event: Event) -> None:
    told.put((name, event))


def _end_with_parent() -> None:
    """A parent that was killed ends nothing itself; left alone, its runs would stay locked and could not be gone on with."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _whole(job: Job, progress: Progress, resident: "Resident") -> dict[str, Any]:
    """Run (or go on), audit and report; what is there already is not made again."""
    from fedrand.audit.run import audit
    from fedrand.report.page import write_page
    from fedrand.run import resume, run
    from fedrand.runfolder import RunFolder
    from fedrand.world import build

    folder = RunFolder(job.folder)
    if folder.is_run:
        _refuse_another(folder, job)  # another command may have begun it since
    done, found = folder.is_run and folder.finished, _audit_of(job, progress) if job.audited else None
    if done:
        vlm, _ = resident.model(job.recipe, progress)
        folder.check_model(vlm.fingerprint())  # a shipped model may be another one since
    world = None if done and (found or not job.audited) else build(job.recipe, progress, resident=resident)
    work = resume(job.folder, progress, world) if folder.is_run else run(job.recipe, job.folder, progress, world)
    if job.audited and not found:
        found = audit(job.folder, progress, world)
    write_page(job.folder)
    return {"results": work, "audit": found}


def _audit_of(job: Job, progress: Progress) -> dict[str, Any] | None:
    """The audit that is there already, if it was made with the job's settings."""
    from fedrand.report.load import read_audit

    if not (found := read_audit(job.folder)):
        return None
    meant = job.recipe.audit.model_dump(mode="json")
    changed = list(differences(found.get("settings", meant), meant))
    if changed:
        progress.say(f"its audit was made with other settings ({changed[0]}), so it is made again")
    return None if changed else found
