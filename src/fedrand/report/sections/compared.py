"""Several runs under each adversary's worst attack, on one axis."""

from collections.abc import Sequence

from fedrand.report.charts import auroc_axis, auroc_ticks, interval
from fedrand.report.differences import Read
from fedrand.report.markup import Markup, element, section, table
from fedrand.report.svg import Scale
from fedrand.report.threat import SUREST, Threat

NOTE = (
    f"Worst: {SUREST}; corrected: its interval holds for all of them "
    "together. Another run's worst attack may be another one; the paired figures of the table compare the same attack."
)


def worst_by_threat(runs: Sequence[Read]) -> Markup | None:
    """A table per adversary with a row per run; None when no run has a verdict."""
    found = {threat.id: threat for run in runs for threat in run.threats if threat.worst}
    if not found:
        return None
    rows = [threat.worst.as_row for run in runs for threat in run.threats if threat.worst]
    scale = auroc_axis(rows)
    tables = [_table(threat, runs, scale) for threat in found.values()]
    return section("Worst attack per threat model", element("p", NOTE, class_="note"), *tables, name="worst")


def _table(threat: Threat, runs: Sequence[Read], scale: Scale) -> Markup:
    lines = [
        _line(f"{number}. {run.name}", next((own for own in run.threats if own.id == threat.id), None), scale)
        for number, run in enumerate(runs, 1)
    ]
    headings = ("run", auroc_ticks(scale), "AUROC", "attack")
    return table(headings, lines, caption=threat.name, class_="forest", columns=("", "plot", "", "extra attack"))


def _line(run: str, threat: Threat | None, scale: Scale) -> tuple[str, str, str, str]:
    if threat is None or threat.worst is None:
        return run, "", "not run" if threat is None else threat.status, ""
    return run, interval(threat.worst.as_row, scale), threat.worst.corrected, threat.worst.name
