"""Utility against leakage over several runs: the paper's Figure 2, with the intervals that are known."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fedrand.report.markup import Markup, element
from fedrand.report.svg import NAMESPACE, Scale, axes, frame, padded

WIDTH, LEFT, LEGEND, LINE = 480, 56, 346, 20


class Span(NamedTuple):
    """A value and the interval around it, which may not be known."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def bounds(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def known(self) -> list[float]:
        return [self.value, *(self.bounds or ())]


class Point(NamedTuple):
    """One model of a run; `number` is its run's, `model` is "server" or "client"."""

    number: int
    method: str
    model: str
    auroc: Span
    utility: Span


def plane(points: Sequence[Point], colours: Mapping[str, str], y_label: str, style: str = "") -> Markup:
    """Servers filled, clients hollow, colour by method; with `style` a file on its own."""
    x = Scale(*padded([0.5, *(value for point in points for value in point.auroc.known)]), LEFT, WIDTH - 20)
    y = Scale(*padded([value for point in points for value in point.utility.known]), 285, 15)
    height = LEGEND + LINE * (2 + len(colours) // 2)
    title = f"{y_label} against AUROC of {len(points)} models"
    drawn = [draw(point, x, y, colours[point.method]) for draw in (_bars, _mark) for point in points]
    return frame(
        WIDTH,
        height,
        title,
        *([element("style", style)] if style else []),
        element("rect", width=WIDTH, height=height, fill="var(--page)"),
        axes(x, y, "AUROC of the attack (0.5: a coin; right: leaks more)", y_label),
        element("line", x1=x(0.5), x2=x(0.5), y1=y.end, y2=y.start, class_="half"),
        *drawn,
        *_legend(colours),
        xmlns=NAMESPACE if style else None,
    )


def _bars(point: Point, x: Scale, y: Scale, colour: str) -> Markup:
    left, up, bars = x(point.auroc.value), y(point.utility.value), []
    if across := point.auroc.bounds:
        bars.append(element("line", x1=x(across[0]), x2=x(across[1]), y1=up, y2=up, class_="error"))
    if along := point.utility.bounds:
        bars.append(element("line", x1=left, x2=left, y1=y(along[0]), y2=y(along[1]), class_="error"))
    return element("g", *bars, class_=colour)


def _mark(point: Point, x: Scale, y: Scale, colour: str) -> Markup:
    left, up = x(point.auroc.value), y(point.utility.value)
    mark = element("circle", cx=left, cy=up, r=6, class_=f"{point.model} point")
    return element("g", mark, element("text", str(point.number), x=left + 9, y=up - 8, class_="number"), class_=colour)


def _legend(colours: Mapping[str, str]) -> list[Markup]:
    """Two entries on a line: the methods, then what filled and hollow mean."""
    places = [(LEFT + 8 + 205 * (index % 2), LEGEND + LINE * (index // 2)) for index in range(len(colours) + 1)]
    entries = [
        element(
            "g",
            element("circle", cx=left, cy=up - 4, r=6, class_="point"),
            element("text", method[:30], x=left + 12, y=up),
            class_=colour,
        )
        for (method, colour), (left, up) in zip(colours.items(), places, strict=False)
    ]
    left, up = places[-1]
    return [*entries, element("text", "filled: server; hollow: client", x=left - 6, y=up)]
