"""Runs whose audits looked at the same items: how much more one leaks than the first by each attack that was kept by item,
whether that is resolved, and why it sometimes cannot be said."""

from collections.abc import Sequence
from pathlib import Path

from fedrand.audit.paired import Kept, Key, Paired, paired, scores, unlike
from fedrand.errors import suggested
from fedrand.report.amounts import MISSING, interval, number, probability, real
from fedrand.report.comparison import Column, leak_names
from fedrand.report.differences import Read
from fedrand.report.finding import Finding
from fedrand.report.load import Json, ReportError, audit_read

Pairs = dict[tuple[str, tuple[str, str, str, str]], Paired]
"""(run, key of a finding) -> its difference to the first run"""


def kept_by_item(audit: Json, rows: Sequence[Finding]) -> list[Finding]:
    """The rows that the audit kept scores of."""
    known = scores(audit)
    return [row for row in rows if known and row.key in known.rows]


def pairs(runs: Sequence[Read]) -> tuple[Pairs, list[str], float | None]:
    """Every audited run against the first: (differences, a line for each that cannot be given, the level of their
    intervals, None without any). ReportError when two audits contradict each other."""
    if not runs[0].audited:
        return {}, [], None
    found: Pairs = {}
    reasons: list[str] = []
    first = _scores(runs[0])
    for other in runs[1:]:
        if not other.audited:
            continue
        who, theirs = f"{other.name} and {runs[0].name}", _scores(other)
        if first is None or theirs is None:
            lacking = runs[0] if first is None else other
            again = f"the audit of {lacking.name} keeps no scores by item; make it again with: {suggested('audit', lacking.path)}"
            reasons.append(f"{who} are compared unpaired, each AUROC with its own interval: {again}")
        elif reason := unlike(first, theirs):
            reasons.append(
                f"{who} audited other samples, {reason}: compared unpaired, each AUROC with its own interval"
            )
        elif first.level != theirs.level:
            levels = f"at {100 * theirs.level:g}% and {100 * first.level:g}%"
            reasons.append(f"{who} are audited {levels}: compared unpaired, each AUROC with its own interval")
        else:
            reasons += _rows((runs[0], other), first, theirs, found)
    return found, reasons, first.level if first and found else None


def _rows(runs: tuple[Read, Read], first: Kept, other: Kept, found: Pairs) -> list[str]:
    """Adds the differences of the second run to the first to `found`; returns why some cannot be given."""
    reasons = []
    for key in {**first.rows, **other.rows}:
        result = _paired(runs, first, other, key)
        if isinstance(result, Paired):
            found[runs[1].name, key] = result
        else:
            who = f"{runs[1].name} and {runs[0].name}"
            reasons.append(f"no paired difference of {who} by {', '.join(key)}: {result}")
    return reasons


def _paired(runs: tuple[Read, Read], first: Kept, other: Kept, key: Key) -> Paired | str:
    try:
        return paired(first, other, key)
    except ValueError as error:  # the same digest of the items, and yet other items: nobody can tell which was altered
        files = " and ".join(str(Path(run.path) / "audit.json") for run in runs)
        again = "; ".join(suggested("audit", run.path) for run in runs)
        raise ReportError(f"{files} contradict each other ({error}); make them again with: {again}") from error


def _scores(run: Read) -> Kept | None:
    with audit_read(Path(run.path)):
        return scores(run.audit or {})


def paired_columns(first: str, finding: Finding) -> tuple[Column, Column]:
    """The difference of an attack's AUROC to that of the first run, over clients and items, and for the models given."""
    heading = f"AUROC {finding.model} {finding.threat}: {finding.name}, minus that of {first}, paired"
    drawn, given = _paired_names(finding)
    return Column(heading, drawn, _resolved), Column(f"{heading}, models given", given, _given)


def _resolved(value: object, low: object, high: object, resolved: object) -> str:
    if value is None:
        return interval(value, low, high)
    return f"{interval(value, low, high)} {'resolved' if resolved else 'not resolved'}"


def _given(low: object, high: object, p: object) -> str:
    return MISSING if real(low) is None else f"[{number(low)}, {number(high)}], p {probability(p)}"


def paired_values(finding: Finding, found: Paired) -> dict[str, object]:
    """The raw values under `paired_columns`."""
    drawn, given = _paired_names(finding)
    over, fixed = found.drawn, found.given
    known = (over.value, over.low, over.high, found.resolved), (fixed.low, fixed.high, fixed.p)
    return dict(zip((*drawn, *given), (*known[0], *known[1]), strict=True))


def _paired_names(finding: Finding) -> tuple[tuple[str, ...], tuple[str, ...]]:
    stem = f"paired_{leak_names(finding)[0].removeprefix('auroc_')}"
    return (stem, *(f"{stem}_{part}" for part in ("low", "high", "resolved"))), tuple(
        f"{stem}_given_{part}" for part in ("low", "high", "p")
    )
