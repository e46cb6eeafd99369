"""The whole story on the embedded data: FedRand beside FedAvg, trained, measured, audited and reported, offline."""

import multiprocessing
import queue
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fedrand.errors import InputError
from fedrand.progress import Event, Progress, prefixed
from fedrand.recipe import differences, load_recipe

METHODS = ("fedrand", "fedavg")
Found = dict[str, dict[str, Any]]


def demo(out: Path, progress: Progress) -> Found:
    """Both methods at once, a process and a core each; what is there already is reused or gone on with.

    Returns {method: {"results", "audit"}}. InputError when `out` holds runs of another recipe.
    """
    for method in METHODS:
        _check(out / method, method)
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(len(METHODS), mp_context=context) as pool:
        events = manager.Queue()
        jobs = {method: pool.submit(_whole, method, out / method, events) for method in METHODS}
        _relay(list(jobs.values()), events, progress)
        found = {method: job.result() for method, job in jobs.items()}
    from fedrand.report.compare import compare

    compare([out / method for method in METHODS], out / "compare")
    return found


def _recipe(method: str):
    return load_recipe("emoji", [f"strategy.name={method}"])


def _check(folder: Path, method: str) -> None:
    from fedrand.runfolder import RunFolder

    run = RunFolder(folder)
    if run.is_run and (changed := list(differences(run.recipe.model_dump(), _recipe(method).model_dump()))):
        raise InputError(
            f"{folder} holds a run of another recipe ({changed[0]}); name another folder: fedrand demo --out"
        )


def _relay(jobs: Sequence[Future], events: Any, progress: Progress) -> None:
    """Show what the processes tell until all are done."""
    while not all(job.done() for job in jobs) or not events.empty():
        try:
            progress.sink(events.get(timeout=0.5))
        except queue.Empty:
            continue


def _whole(method: str, folder: Path, events: Any) -> dict[str, Any]:
    """Run (or go on), audit and report one method; in a process of its own."""
    from fedrand.audit.run import audit
    from fedrand.report.load import read_audit
    from fedrand.report.page import write_page
    from fedrand.run import resume, run
    from fedrand.runfolder import RunFolder

    def tell(event: Event) -> None:
        events.put(prefixed(event, method))

    progress = Progress(tell)
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
