"""A grid as CSV and as Markdown: measured here beside the paper's, and what the differences come to."""

import csv
import io
from collections.abc import Iterable, Sequence

from fedrand.reproduce.grid import Grid, Line

FIELDS = (
    "part", "row", "column", "mean", "std", "half_width_95", "seeds", "paper", "difference", "difference_half_width_95", "verdict",
)  # fmt: skip


def as_csv(grid: Grid) -> str:
    """A line per figure."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(_values(line) for line in grid.lines())
    return buffer.getvalue()


def _values(line: Line) -> list[object]:
    here = (line.here.mean, line.here.std, line.here.half, line.here.n) if line.here else (None, None, None, 0)
    change = (line.change.mean, line.change.half) if line.change else (None, None)
    return [line.part, line.row, line.column, *here, line.paper, *change, line.verdict]


def as_markdown(grid: Grid, command: str) -> str:
    """A table per part, then the differences; `command` is what made it."""
    experiment = grid.experiment
    seeds = ", ".join(map(str, grid.seeds))
    spread = "mean and 95% interval over seeds" if len(grid.seeds) > 1 else "one seed, so no interval"
    parts = [f"# {grid.name}: {experiment.title}", f"`{command}`; seeds {seeds}: {spread}. In brackets: the paper's."]
    parts += _repeated(grid)
    for part in experiment.parts:
        lines = [line for line in grid.lines() if line.part == part]
        parts += [f"## {part}", _table(grid, lines, _measured)]
        if any(line.change for line in lines):
            words = f"Difference to {experiment.against}, paired by seed; an interval that holds 0 is not resolved:"
            parts += [words, _table(grid, [line for line in lines if line.row != experiment.against], _changed)]
    return "\n\n".join(parts) + "\n"


def _repeated(grid: Grid) -> list[str]:
    """Where bytes are shown: the runs that sent some of them again."""
    if not any(column.path[:1] == ("bytes",) for column in grid.experiment.columns):
        return []
    again = {
        f"{row}, seed {seed}": found["results"]["bytes"].get("repeated") for (_, row, seed), found in grid.runs.items()
    }
    some = [f"{name}: {count:,}" for name, count in again.items() if count]
    return (
        [f"Bytes that were sent again, as a run was stopped or a round repeated, counted too: {'; '.join(some)}."]
        if some
        else []
    )


def _table(grid: Grid, lines: Iterable[Line], show) -> str:
    cells: dict[str, list[str]] = {}
    for line in lines:
        cells.setdefault(line.row, []).append(show(line))
    headings = [column.heading for column in grid.experiment.figures]
    rows: list[Sequence[str]] = [["", *headings], ["---"] * (len(headings) + 1)]
    rows += [[row, *texts] for row, texts in cells.items()]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _measured(line: Line) -> str:
    here = line.here.text(line.digits) if line.here else "not measured"
    return here if line.paper is None else f"{here} ({line.paper:.2f})"


def _changed(line: Line) -> str:
    if line.change is None:
        return ""
    mark = "" if line.verdict in ("higher", "lower") else f", {line.verdict}"
    return f"{line.change.text(line.digits)}{mark}"
