"""A grid as a picture, in SVG and PNG: dots with intervals here, the paper's numbers in a panel of their own."""

import io
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from fedrand.errors import InputError
from fedrand.reproduce.cells import cell
from fedrand.reproduce.figures import Figure
from fedrand.reproduce.grid import Grid, Line

# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255", "#44AA99", "#999933")
BINS = ((3.0, "#7b3294"), (2.0, "#c2a5cf"), (1.0, "#a6dba0"), (0.0, "#ffffff"))  # nats, from the least sure on


def refuse_without_matplotlib() -> None:
    """InputError when pictures cannot be drawn: told before hours of runs."""
    if find_spec("matplotlib") is None:
        raise InputError("pictures need matplotlib; install it with: pip install 'fedrand[figures]'")


def draw(grid: Grid) -> Mapping[str, bytes]:
    """{"svg", "png"}."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    drawing = _DRAWINGS.get(grid.name, _dots)
    with rc_context({"svg.hashsalt": "fedrand", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        canvas = Canvas(layout="constrained")
        drawing(grid, canvas)
        return {suffix: _bytes(canvas, suffix) for suffix in ("svg", "png")}


def _bytes(canvas: Any, suffix: str) -> bytes:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
    return buffer.getvalue()


def _dots(grid: Grid, canvas: Any) -> None:
    """A panel per column; above what was measured here, below what the paper prints, rows named at the left."""
    columns, parts = grid.experiment.figures, grid.experiment.parts
    rows = [row for row in grid.rows]
    panels = [(part, source) for part in parts for source in ("here", "paper")]
    canvas.set_size_inches(1.6 + 1.7 * len(columns), 0.6 + (0.5 + 0.24 * len(rows)) * len(panels))
    axes = canvas.subplots(len(panels), len(columns), sharey=True, squeeze=False)
    lines = {(line.part, line.row, line.column): line for line in grid.lines()}
    for (part, source), line_of_axes in zip(panels, axes, strict=True):
        for column, axis in zip(columns, line_of_axes, strict=True):
            _panel(axis, [lines[part, row, column.heading] for row in rows], source)
        line_of_axes[0].set_ylabel(f"{part}\n{source}")
        line_of_axes[0].set_yticks(range(len(rows)), rows)
    axes[0][0].invert_yaxis()
    for column, axis in zip(columns, axes[0], strict=True):
        axis.set_title(_wrapped(column.heading), fontsize=8)


def _panel(axis: Any, lines: Sequence[Line], source: str) -> None:
    axis.grid(axis="x", color="#dddddd")
    for place, line in enumerate(lines):
        if source == "paper" and line.paper is not None:
            axis.plot(line.paper, place, "D", color="#666666", markersize=4)
        if source == "here" and line.here is not None:
            colour = COLOURS[place % len(COLOURS)]
            axis.errorbar(line.here.mean, place, xerr=line.here.half, fmt="o", color=colour, markersize=4, capsize=2)


def _wrapped(heading: str) -> str:
    return heading.replace(" MaxRenyi", "\nMaxRenyi").replace("% ", "%\n")


def _plane(grid: Grid, canvas: Any) -> None:
    """The paper's Figure 2, once per attack: servers filled, clients hollow."""
    utility, *leaks = grid.experiment.columns
    canvas.set_size_inches(5 * len(leaks), 4.4)
    axes = canvas.subplots(1, len(leaks), squeeze=False)[0]
    for axis, leak in zip(axes, leaks, strict=True):
        for place, row in enumerate(grid.rows):
            _points(axis, grid, row, (leak, utility), COLOURS[place % len(COLOURS)])
        axis.axvline(50, color="#888888", linestyle=":", linewidth=1)
        axis.set_xlabel(f"{leak.heading} (50: a coin)")
        axis.set_ylabel(f"{utility.heading} x 100, test")
    if axes[-1].get_legend_handles_labels()[0]:
        axes[-1].legend(fontsize=7, title="filled: server, hollow: clients", title_fontsize=7)


def _points(axis: Any, grid: Grid, row: str, pair: tuple[Figure, Figure], colour: str) -> None:
    for part in grid.experiment.parts:
        values = [list(grid.values(row, part, figure).values()) for figure in pair]
        if not all(values):
            continue
        x, y = map(cell, values)
        face = colour if part == "server" else "white"
        label = row if part == "server" else None
        axis.errorbar(
            x.mean,
            y.mean,
            xerr=x.half,
            yerr=y.half,
            fmt="o",
            color=colour,
            markerfacecolor=face,
            label=label,
            elinewidth=0.6,
        )


def _bars(grid: Grid, canvas: Any) -> None:
    """The paper's Figure 3: bars for here, a mark for the paper."""
    lines = grid.lines()
    canvas.set_size_inches(6, 3.2)
    axis = canvas.subplots()
    for place, line in enumerate(lines):
        if line.here:
            axis.bar(place, line.here.mean, color=COLOURS[place % len(COLOURS)])
            axis.annotate(f"{line.here.mean:.2f}", (place, line.here.mean), ha="center", va="bottom")
        if line.paper is not None:
            axis.plot(place, line.paper, "D", color="black", label="the paper's" if place == 0 else None)
    axis.set_xticks(range(len(lines)), [line.row for line in lines])
    axis.set_ylabel("bytes, against FedAvg's")
    axis.legend()


def _entropies(grid: Grid, canvas: Any) -> None:
    """The paper's Figure 4: each token of a member's and a non-member's text, coloured by its entropy."""
    run = grid.runs["captions", "FedRand", grid.seeds[0]]
    texts = (run.get("audit") or {}).get("entropy") or []
    canvas.set_size_inches(9, 0.9 + 0.9 * max(1, len(texts)))
    axis = canvas.subplots()
    axis.set_axis_off()
    for line, text in enumerate(texts):
        _strip(axis, -1.2 * line, "member" if text["member"] else "non-member", text["tokens"], text["entropies"])
    axis.set_title(
        "Renyi entropy of order 1/2 per token, nats: purple at least 3, lilac 2-3, green 1-2, white below 1", fontsize=8
    )
    axis.set_xlim(-2, max([8, *(len(text["tokens"]) for text in texts)]))
    axis.set_ylim(-1.2 * len(texts), 1)


def _strip(axis: Any, height: float, name: str, tokens: Sequence[str], entropies: Sequence[float]) -> None:
    axis.text(-0.15, height, name, ha="right", va="center")
    for place, (token, entropy) in enumerate(zip(tokens, entropies, strict=True)):
        colour = next(colour for low, colour in BINS if entropy >= low)
        shown = f"{token.strip()}\n{entropy:.1f}"
        box = {"facecolor": colour, "edgecolor": "#888888", "boxstyle": "round,pad=0.2"}
        ink = "white" if colour == BINS[0][1] else "black"
        axis.text(place + 0.4, height, shown, ha="center", va="center", fontsize=7, color=ink, bbox=box)


_DRAWINGS: Mapping[str, Callable[[Grid, Any], None]] = {"fig2": _plane, "fig3": _bars, "fig4": _entropies}
