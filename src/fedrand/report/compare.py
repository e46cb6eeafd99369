"""Utility against leakage against bytes over several runs: a table and a plot (paper's Figure 2)."""

from collections.abc import Sequence
from pathlib import Path

from fedrand.report.amounts import pick, scaled
from fedrand.report.comparison import (
    BYTES,
    CLIENTS,
    SERVER,
    SUBJECTS,
    WHO,
    Column,
    Comparison,
    leak_column,
    values,
    worst_columns,
    worst_values,
)
from fedrand.report.comparison_files import write_comparison
from fedrand.report.differences import Read, warnings
from fedrand.report.finding import findings
from fedrand.report.glossary import entries
from fedrand.report.leakage import headline
from fedrand.report.load import ReportError, audit_read, read_audit, read_environment, read_recipe, read_results
from fedrand.report.pairs import Pairs, kept_by_item, paired_columns, paired_values, pairs
from fedrand.report.plane import Point, Span
from fedrand.report.sections.compared import worst_by_threat
from fedrand.report.threat import threats

UTILITIES = {"cider_d": "CIDEr-D x 100", "exact": "exact match x 100"}


def compare(runs: Sequence[Path], out: Path | None = None) -> Comparison:
    """Runs side by side; with `out`, a folder, also compare.html, .svg (when a run is audited), .csv, .json and .md.

    Runs that differ in more than their method are compared all the same, each difference in a line of `warnings`.
    ReportError when a run has no results.
    """
    if not runs:
        raise ReportError("nothing to compare; name one run folder or more, such as `fedrand compare runs/a runs/b`")
    names = _names(runs)
    read = [_read(name, path) for name, path in zip(names, runs, strict=True)]
    differences, unpaired, level = pairs(read)
    rows = tuple(_row(run, differences) for run in read)
    comparison = Comparison(
        _columns(read, differences),
        rows,
        tuple(warnings(read)),
        tuple(unpaired),
        {term: meaning for run in read for term, meaning in run.words.items()},
        level,
    )
    if out is not None:
        write_comparison(comparison, *_points(read), worst_by_threat(read), out)
    return comparison


def _columns(read: Sequence[Read], differences: Pairs) -> tuple[Column, ...]:
    every = [leak for model in SUBJECTS for run in read for leak in run.shown if leak.model == model]
    leaks = {leak_column(leak).names: leak_column(leak) for leak in every}
    adversaries = dict.fromkeys(threat.id for run in read for threat in run.threats if threat.worst)
    known = {key for _, key in differences}
    return (
        *(*WHO, *SERVER, *CLIENTS, *BYTES),
        *leaks.values(),
        *(column for threat in adversaries for column in worst_columns(threat)),
        *(column for leak in read[0].shown if leak.key in known for column in paired_columns(read[0].name, leak)),
    )


def _row(run: Read, differences: Pairs) -> dict[str, object]:
    found = values(run.name, run.results, run.shown)
    for threat in run.threats:
        found |= worst_values(threat)
    for leak in run.shown:
        if known := differences.get((run.name, leak.key)):
            found |= paired_values(leak, known)
    return found


def _names(runs: Sequence[Path]) -> list[str]:
    """Folder names, or whole paths where two folders have the same name."""
    short = [run.resolve().name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]


def _read(name: str, run: Path) -> Read:
    audit = read_audit(run)
    with audit_read(run):
        rows, found = findings(audit or {}, "P1"), threats(audit or {})
        leaks = {model: leak for model in SUBJECTS if (leak := headline(rows, model))}
        shown = {leak.key: leak for leak in (*leaks.values(), *kept_by_item(audit or {}, rows))}
    results, recipe = read_results(run), read_recipe(run)[1]
    return Read(
        name,
        str(run),
        results,
        audit,
        read_environment(run),
        recipe,
        leaks,
        [*shown.values()],
        found,
        entries(audit),
    )


def _points(read: list[Read]) -> tuple[str, list[Point]]:
    """(name of the utility, a point per run and model whose utility and AUROC are known)."""
    servers = {
        metric: [scaled(metric, pick(run.results, "server", "test", metric)) for run in read] for metric in UTILITIES
    }
    metric = next((metric for metric, found in servers.items() if any(value is not None for value in found)), "")
    points = [
        Point(number, str(run.results.get("method")), model, Span(leak.auroc, leak.low, leak.high), utility)
        for number, run in enumerate(read, 1)
        for model, utility in _spans(run, metric).items()
        if (leak := run.leaks.get(model)) and leak.auroc is not None
    ]
    return UTILITIES.get(metric, ""), points


def _spans(run: Read, metric: str) -> dict[str, Span]:
    """The server's utility, and the clients' mean with one standard deviation."""
    server = scaled(metric, pick(run.results, "server", "test", metric))
    mean, std = (scaled(metric, pick(run.results, "clients", part, "test", metric)) for part in ("mean", "std"))
    found = {} if server is None else {"server": Span(server)}
    if mean is not None:
        found["client"] = Span(mean) if std is None else Span(mean, mean - std, mean + std)
    return found
