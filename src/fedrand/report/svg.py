"""What a drawing needs: a linear scale, its round ticks, axes, and the frame that names the picture for a reader."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fedrand.report.amounts import plain
from fedrand.report.markup import Markup, element, join

NAMESPACE = "http://www.w3.org/2000/svg"


@dataclass(frozen=True)
class Scale:
    """Data from `low`..`high` to drawing units `start`..`end` (start > end turns the axis upside down)."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where the value lies, held inside the axis."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers inside low..high, some `about` of them."""
        if self.high <= self.low:
            return [self.low]
        step = round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(index * step, 12) for index in range(first, last + 1)]


def round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5, 5, 10 x 10^n that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10, 20) if factor * power >= least * (1 - 1e-9))


def padded(values: Sequence[float], share: float = 0.08) -> tuple[float, float]:
    """(low, high) of the values with room at both ends; a single value gets room of its own size."""
    low, high = min(values), max(values)
    room = (high - low) * share or abs(high) * share or 1.0
    return low - room, high + room


def frame(width: int, height: int, title: str, *children: str, **attributes: object) -> Markup:
    """A picture of width x height units that fits its column; `title` is what a screen reader says."""
    box = f"0 0 {width} {height}"
    return element(
        "svg",
        element("title", title),
        *children,
        viewBox=box,
        role="img",
        aria_label=title,
        class_="chart",
        **attributes,
    )


def axes(x: Scale, y: Scale, x_label: str, y_label: str, *, whole: bool = False) -> Markup:
    """Grid lines, tick labels and names of both axes; `whole` keeps to whole numbers on x."""
    middle_x, middle_y = (x.start + x.end) / 2, (y.start + y.end) / 2
    across = [tick for tick in x.ticks() if not whole or tick == int(tick)]
    return join(
        [
            *(element("line", x1=x.start, x2=x.end, y1=y(tick), y2=y(tick), class_="rule") for tick in y.ticks()),
            *(element("line", x1=x(tick), x2=x(tick), y1=y.end, y2=y.start, class_="rule") for tick in across),
            *(_label(plain(tick), x(tick), y.start + 17, "middle") for tick in across),
            *(_label(plain(tick), x.start - 6, y(tick) + 4, "end") for tick in y.ticks()),
            _label(x_label, middle_x, y.start + 35, "middle"),
            element("g", _label(y_label, 0, 0, "middle"), transform=f"translate(13 {middle_y:.2f}) rotate(-90)"),
        ]
    )


def _label(words: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", words, x=x, y=y, text_anchor=anchor)


def path(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """A line through the points."""
    steps = " ".join(f"{'L' if index else 'M'}{x:.2f} {y:.2f}" for index, (x, y) in enumerate(points))
    return element("path", d=steps, class_=class_)
