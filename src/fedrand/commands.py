"""What each command does: load, run, show. Nothing heavy is imported before it is needed."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from fedrand.errors import quoted
from fedrand.progress import Progress


def run(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.recipe import load_recipe

    recipe = load_recipe(args.recipe, args.set)
    args.out = args.out or Path("runs") / Path(args.recipe).stem
    from fedrand.run import run

    results = run(recipe, args.out, progress)
    _show_results(results, args, args.out)
    return results


def resume(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.run import resume

    results = resume(args.run, progress)
    _show_results(results, args, args.run)
    return results


def _show_results(results: dict[str, Any], args: argparse.Namespace, run: Path) -> None:
    from fedrand.accountant import COVERS
    from fedrand.report.terminal import run_table, show

    if not (args.quiet or args.json):
        show(run_table(results))
        if paid := results.get("privacy"):
            print(
                f"epsilon: at most {max(paid['epsilon'].values()):.3g} at delta {paid['delta']:g} ({paid['accountant']}), "
                f"of {COVERS}"
            )
        print(
            f"results: {run}/results.json\nadapter: {run}/server/adapter (PEFT)\nnext:    {program()} audit {quoted(run)}"
        )


def audit(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.audit.run import audit
    from fedrand.report.glossary import entries
    from fedrand.report.terminal import audit_table, explained, show

    found = audit(args.run, progress, overrides=args.set)
    if not (args.quiet or args.json):
        show(table := audit_table(found))
        print(explained(entries(found), table))
        print(f"audit: {args.run}/audit.json\nnext:  {program()} report {quoted(args.run)}")
    return found


def compare(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.report.compare import compare
    from fedrand.report.terminal import comparison_table, explained, show

    found = compare(args.runs, args.out)
    if not (args.quiet or args.json):
        show(table := comparison_table(found))
        print(explained(found.words, table))
    return {"columns": found.names, "rows": found.rows, "warnings": found.warnings, "unpaired": found.unpaired}


def report(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.report.page import write_page

    page = write_page(args.run)
    progress.say(f"report: {page}")
    return {"page": str(page)}


def doctor(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.doctor import examine
    from fedrand.recipe import load_recipe

    return examine(load_recipe(args.recipe, args.set), progress, args.out)


def export(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.export import export_adapter, merge

    target = args.merge or args.adapter
    (merge if args.merge else export_adapter)(args.run, target)
    progress.say(f"written: {target}")
    return {"written": str(target)}


def reproduce(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.reproduce.run import reproduce

    found = reproduce(args.name, args.scale, args.seeds, args.out, args.set, args.workers, progress, args.data)
    if not (args.quiet or args.json):
        print((args.out / f"{args.name}.md").read_text(encoding="utf-8"))
        print(f"written: {args.out}/{args.name}.md, .csv, .json, .svg, .png; runs: {args.out}/runs")
    return found


def demo(args: argparse.Namespace, progress: Progress) -> Any:
    from fedrand.demo import demo, tell

    found = demo(args.out, progress)
    if not (args.quiet or args.json):
        tell(found, args.out)
    return found


def program() -> str:
    """How this command was called: `fedrand`, or as a module of some Python."""
    return shlex.join(sys.orig_argv[:3]) if sys.orig_argv[1:3] == ["-m", "fedrand"] else "fedrand"
