"""The whole story on the embedded data: FedRand beside FedAvg, trained, measured, audited and reported, offline."""

import multiprocessing
import queue
import signal
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from fedrand.errors import InputError, RunError
from fedrand.progress import Event, Progress, prefixed
from fedrand.recipe import Recipe, differences, load_recipe

METHODS = ("fedrand", "fedavg")
Found = dict[str, dict[str, Any]]


def demo(out: Path, progress: Progress) -> Found:
    """Both methods at once, a process and a core each; what is there already is reused or gone on with.

    Returns {method: {"results", "audit"}}. InputError when `out` holds runs of another recipe.
    """
    for method in METHODS:
        _check(out / method, method, progress)
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    workers = {
        method: context.Process(target=_work, args=(method, out / method, told), daemon=True) for method in METHODS
    }
    try:
        for worker in workers.values():
            worker.start()
        found = _relay(workers, told, progress)
    finally:
        for worker in workers.values():
            worker.terminate()  # a run survives it at any moment
            worker.join()
    from fedrand.report.compare import compare

    compare([out / method for method in METHODS], out / "compare")
    return {method: found[method] for method in METHODS}


def _recipe(method: str) -> Recipe:
    return load_recipe("emoji", [f"strategy.name={method}"])


def _check(folder: Path, method: str, progress: Progress) -> None:
    from fedrand.runfolder import RunFolder

    run = RunFolder(folder)
    if not run.is_run:
        return
    if changed := list(differences(run.recipe.model_dump(), _recipe(method).model_dump())):
        raise InputError(
            f"{folder} holds a run of another recipe ({changed[0]}); name another folder: fedrand demo --out"
        )
    progress.say(f"{method}: {folder} is there; it is {'used again' if run.finished else 'gone on with'}")


def _relay(workers: dict[str, BaseProcess], told: Any, progress: Progress) -> Found:
    """Show what the processes tell until all have handed in what they found, or one has failed."""
    found: Found = {}
    while len(found) < len(workers):
        alive = {method: worker.is_alive() for method, worker in workers.items()}  # asked before the queue is read
        try:
            method, what = told.get(timeout=0.5)
        except queue.Empty:
            if lost := [method for method in workers if not alive[method] and method not in found]:
                raise RunError(f"the process of {lost[0]} was ended, perhaps for want of memory") from None
            continue
        if isinstance(what, Event):
            progress.sink(prefixed(what, method))
        elif isinstance(what, BaseException):
            raise what
        else:
            found[method] = what
    return found


def _work(method: str, folder: Path, told: Any) -> None:
    """One method in a process of its own: Ctrl-C is the parent's to answer, and a failure is told as any news."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        told.put((method, _whole(method, folder, Progress(lambda event: told.put((method, event))))))
    except (InputError, RunError, OSError) as error:
        told.put((method, error))


def _whole(method: str, folder: Path, progress: Progress) -> dict[str, Any]:
    """Run (or go on), audit and report."""
    from fedrand.audit.run import audit
    from fedrand.report.load import read_audit
    from fedrand.report.page import write_page
    from fedrand.run import resume, run
    from fedrand.runfolder import RunFolder

    there = RunFolder(folder).is_run
    results = resume(folder, progress) if there else run(_recipe(method), folder, progress)
    found = read_audit(folder) or audit(folder, progress)
    write_page(folder)
    return {"results": results, "audit": found}


def tell(found: Found, out: Path) -> None:
    """The demo's last page on the terminal: quality, bytes, attacks side by side, and what they mean."""
    from fedrand.report.compare import compare
    from fedrand.report.terminal import audit_table, comparison_table, run_table, show

    for method in METHODS:
        show(run_table(found[method]["results"]))
    for method in METHODS:
        print(f"\n{method}")
        show(audit_table(found[method]["audit"]))
    show(comparison_table(compare([out / method for method in METHODS])))
    for method in METHODS:
        print(f"\nWhat this audit says of {method}:")
        for sentence in found[method]["audit"]["verdict"]:
            print(f"- {sentence}")
    print("\nThis is the first part of the audit only; the rest of it is not there yet.")
    for method in METHODS:
        print(f"{method}: {out / method}/report.html, results.json, audit.json, server/adapter (PEFT)")
    print(f"side by side: {out}/compare/compare.html")
