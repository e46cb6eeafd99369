"""The same figures as tables for a terminal; plain aligned text where there is none."""

import sys
from collections.abc import Mapping, Sequence
from copy import copy
from io import StringIO
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedrand.report.amounts import MISSING, SCALE_NOTE, count, number, pick, plain
from fedrand.report.comparison import Comparison
from fedrand.report.finding import Finding, findings
from fedrand.report.glossary import used
from fedrand.report.leakage import headline
from fedrand.report.load import Json
from fedrand.report.quality import HEADINGS, SPLITS, caption_rows, choice_rows, described
from fedrand.report.threat import SUREST, Threat, threats

WIDE = 10_000  # columns of a text that no terminal wraps


def run_table(results: Json) -> Table:
    """Quality before and after, on every split, and bytes against FedAvg."""
    table = _table("Quality", f"{described(results)}\n{SCALE_NOTE}", ("split", *HEADINGS), 2)
    for split in SPLITS:
        for row in caption_rows(results, split):
            _add(table, split, row.label, *row.values)
    for row in choice_rows(results):
        _add(table, "qa", row.label, *row.values)
    for way in ("upload", "total"):
        size, ratio = pick(results, "bytes", way), pick(results, "bytes", f"ratio_{way}")
        _add(table, "run", f"{way} bytes", "", f"{count(size)} ({number(ratio, 2)} of FedAvg)", "", "")
    return table


def audit_table(audit: Json) -> Table:
    """The verdict on each adversary, then each model's headline row; a reading of both stands below."""
    found, rows = threats(audit), findings(audit, "P1")
    headings = (
        "row",
        "threat",
        "model",
        "attack",
        "AUROC",
        "models given",
        "TPR at 1% FPR",
        "base model",
        "members",
        "others",
    )
    table = _table("Audit, protocol P1", _audit_caption(audit, found, len(rows)), headings, 4)
    for threat in found:
        _add_verdict(table, threat)
    table.add_section()
    for row in _fixed(rows):
        _add_finding(table, row)
    return table


def _audit_caption(audit: Json, found: Sequence[Threat], rows: int) -> str:
    seed = f"Members against held-out items of the same client, seed {plain(audit.get('seed'))}; 0.5 is a coin"
    given = "models given: DeLong's interval and p value of these very models; AUROC: over clients and items like these"
    kinds = (
        f"worst: {SUREST} (corrected: the interval holds for all attacks together); "
        f"fixed: chosen beforehand; {rows} rows are in audit.json"
    )
    return "\n".join([*_readings(found), seed, given, kinds])


def _readings(found: Sequence[Threat]) -> list[str]:
    """Each verdict once, after the names of all adversaries that it is on."""
    names: dict[str, list[str]] = {}
    for threat in found:
        names.setdefault(threat.reading, []).append(threat.name)
    return [f"{'; '.join(some)}: {said}" for said, some in names.items()]


def _fixed(rows: Sequence[Finding]) -> list[Finding]:
    """The headline rows of each model; where none is marked or has a figure, the first that has one, or a reason."""
    models = dict.fromkeys(row.model for row in rows)
    own = {model: [row for row in rows if row.model == model] for model in models}
    chosen = {model: [row for row in found if row.headline] for model, found in own.items()}
    return [row for model in models for row in chosen[model] or [headline(rows, model) or own[model][0]]]


def _add_verdict(table: Table, threat: Threat) -> None:
    if (worst := threat.worst) is None:
        _add(table, "worst", threat.id, "", "", threat.status, "", "", "", "", "")
        return
    row = worst.as_row
    figures = (worst.corrected, _given(row), worst.rate.text, number(row.base), count(row.members), count(row.others))
    _add(table, "worst", threat.id, worst.model, worst.name, *figures, style="bold" if threat.leaks else "")


def _add_finding(table: Table, row: Finding) -> None:
    figure = row.reason if row.auroc is None else row.text + (", confounded" if row.confounded else "")
    figures = (figure, _given(row), row.rate(), number(row.base), count(row.members), count(row.others))
    _add(table, "fixed", row.threat, row.model, row.name, *figures, style="bold" if row.leaks else "")


def _given(row: Finding) -> str:
    return row.fixed.text if row.fixed else MISSING


def comparison_table(comparison: Comparison) -> Table:
    """A line per figure and a column per run; what the figures are, and the warnings, stand below."""
    names, *lines = comparison.turned()
    table = _table("Runs compared", "\n".join([comparison.note, *comparison.warnings, *comparison.unpaired]), names)
    for line in lines:
        _add(table, *line)
    return table


def explained(known: Mapping[str, str], *tables: Table) -> str:
    """A line for each term of `known` that the tables use."""
    text = StringIO()
    for table in tables:
        show(table, text)
    return "\n".join(["Words:", *(f"- {line}" for line in used(known, text.getvalue()))])


def show(table: Table, file: IO[str] | None = None) -> None:
    """Print a table: drawn and coloured on a terminal, one row per line elsewhere."""
    target = file or sys.stdout
    console = Console(file=target)
    if console.is_terminal:
        console.print(table)
        return
    bare = copy(table)
    bare.box, bare.pad_edge = None, False
    text = StringIO()
    Console(file=text, width=WIDE, color_system=None).print(bare, soft_wrap=True)
    target.write("\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n")


def _table(title: str, caption: str, headings: Sequence[str], left: int = 1) -> Table:
    """left: how many columns hold words."""
    table = Table(title=Text(title), caption=Text(caption), title_justify="left", caption_justify="left")
    for index, heading in enumerate(headings):
        table.add_column(Text(heading), justify="left" if index < left else "right")
    return table


def _add(table: Table, *cells: str, style: str = "") -> None:
    """A row of plain text: a name such as [red] stays a name."""
    table.add_row(*(Text(cell) for cell in cells), style=style)
