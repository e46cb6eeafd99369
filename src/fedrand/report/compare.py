"""Utility against leakage against bytes over several runs: a table and a plot (paper's Figure 2)."""

from collections.abc import Collection, Mapping, Sequence
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
    paired_column,
    paired_names,
    values,
    worst_columns,
    worst_values,
)
from fedrand.report.comparison_files import write_comparison
from fedrand.report.differences import Read, warnings
from fedrand.report.finding import Bounds, Finding, findings
from fedrand.report.glossary import entries
from fedrand.report.leakage import headline
from fedrand.report.load import ReportError, audit_read, read_audit, read_environment, read_recipe, read_results
from fedrand.report.pairs import pairs
from fedrand.report.plane import Point, Span
from fedrand.report.sections.compared import worst_by_threat
from fedrand.report.threat import threats

UTILITIES = {"cider_d": "CIDEr-D x 100", "exact": "exact match"}


def compare(runs: Sequence[Path], out: Path | None = None) -> Comparison:
    """Runs side by side; with `out`, a folder, also compare.html, .svg (when a run is audited), .csv, .json and .md.

    Runs that differ in more than their method are compared all the same, each difference in a line of `warnings`.
    ReportError when a run has no results.
    """
    if not runs:
        raise ReportError("nothing to compare; name one run folder or more, such as `fedrand compare runs/a runs/b`")
    names = _names(runs)
    read = [_read(name, path) for name, path in zip(names, runs, strict=True)]
    differences, unpaired = pairs(read, SUBJECTS)
    rows = tuple(_row(run, differences) for run in read)
    comparison = Comparison(
        _columns(read, {model for _, model in differences}),
        rows,
        tuple(warnings(read)),
        tuple(unpaired),
        {term: meaning for run in read for term, meaning in run.words.items()},
    )
    if out is not None:
        write_comparison(comparison, *_points(read), worst_by_threat(read), out)
    return comparison


def _columns(read: Sequence[Read], paired: Collection[str]) -> tuple[Column, ...]:
    """paired: the models on which some run's difference to the first is known."""
    leaks = {
        leak_column(leak).names: leak_column(leak) for model in SUBJECTS for run in read for leak in _of(run, model)
    }
    adversaries = dict.fromkeys(threat.id for run in read for threat in run.threats if threat.worst)
    return (
        *(*WHO, *SERVER, *CLIENTS, *BYTES),
        *leaks.values(),
        *(column for threat in adversaries for column in worst_columns(threat)),
        *(paired_column(read[0].name, read[0].leaks[model]) for model in SUBJECTS if model in paired),
    )


def _row(run: Read, differences: Mapping[tuple[str, str], Bounds]) -> dict[str, object]:
    found = values(run.name, run.results, list(run.leaks.values()))
    for threat in run.threats:
        found |= worst_values(threat)
    for model, leak in run.leaks.items():
        if known := differences.get((run.name, model)):
            found |= dict(zip(paired_names(leak), known, strict=True))
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
    results, recipe = read_results(run), read_recipe(run)[1]
    return Read(name, str(run), results, audit is not None, read_environment(run), recipe, leaks, found, entries(audit))


def _of(run: Read, model: str) -> list[Finding]:
    return [run.leaks[model]] if model in run.leaks else []


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
