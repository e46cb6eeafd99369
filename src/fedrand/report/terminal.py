"""The same figures as tables for a terminal; plain aligned text where there is none."""

import sys
from collections.abc import Sequence
from copy import copy
from io import StringIO
from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedrand.report.amounts import count, number, pick, plain
from fedrand.report.comparison import NOTE, Comparison
from fedrand.report.finding import findings
from fedrand.report.load import Json
from fedrand.report.quality import HEADINGS, caption_rows, choice_rows, described

WIDE = 10_000  # columns of a text that no terminal wraps


def run_table(results: Json) -> Table:
    """Quality before and after, on both splits, and bytes against FedAvg."""
    table = _table("Quality", described(results), ("split", *HEADINGS), 2)
    for split in ("test", "ood"):
        for row in caption_rows(results, split):
            _add(table, split, row.label, *row.values)
    for row in choice_rows(results):
        _add(table, "qa", row.label, *row.values)
    for way in ("upload", "total"):
        size, ratio = pick(results, "bytes", way), pick(results, "bytes", f"ratio_{way}")
        _add(table, "run", f"{way} bytes", "", f"{count(size)} ({number(ratio, 2)} of FedAvg)", "", "")
    return table


def audit_table(audit: Json) -> Table:
    """Every row of P1: AUROC with its interval and the base model's own value; the reason where there is no figure."""
    caption = f"Members against held-out items of the same client, seed {plain(audit.get('seed'))}; 0.5 is a coin"
    headings = ("threat", "model", "attack", "AUROC", "base model", "members", "others")
    table = _table("Audit, protocol P1", caption, headings, 3)
    for row in findings(audit, "P1"):
        figure = row.text if row.auroc is not None else row.reason
        sizes = (count(row.members), count(row.others))
        _add(
            table, row.threat, row.model, row.name, figure, number(row.base), *sizes, style="bold" if row.leaks else ""
        )
    return table


def comparison_table(comparison: Comparison) -> Table:
    """A line per figure and a column per run; what the figures are, and the warnings, stand below."""
    names, *lines = comparison.turned()
    table = _table("Runs compared", "\n".join([NOTE, *comparison.warnings]), names)
    for line in lines:
        _add(table, *line)
    return table


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
