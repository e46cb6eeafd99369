"""The drawings of a run: losses over rounds, an interval on an axis, a bar."""

from collections.abc import Iterable, Sequence

from fedrand.report.amounts import number, real
from fedrand.report.finding import Finding
from fedrand.report.load import Round
from fedrand.report.markup import Markup, element
from fedrand.report.svg import Scale, axes, frame, padded, path


def losses(rounds: Sequence[Round]) -> Markup | None:
    """A faint point per client and round, a bold line through the rounds' means; None when no loss is known."""
    points = _known((entry.index, sent.loss) for entry in rounds for sent in entry.clients.values())
    means = _known((entry.index, entry.loss) for entry in rounds)
    if not points or not means:
        return None
    x = Scale(rounds[0].index, rounds[-1].index, 52, 470)
    y = Scale(*padded([loss for _, loss in points + means]), 215, 10)
    marks = [element("circle", cx=x(index), cy=y(loss), r=2.5, class_="one") for index, loss in points]
    line = [(x(index), y(mean)) for index, mean in means]
    end = element("circle", cx=line[-1][0], cy=line[-1][1], r=4, class_="dot")
    (first, begun), (last, ended) = means[0], means[-1]
    title = f"Mean training loss: {number(begun)} in round {first}, {number(ended)} in round {last}"
    return frame(
        480, 260, title, axes(x, y, "round", "loss, nats per token", whole=True), *marks, path(line, "mean"), end
    )


def _known(pairs: Iterable[tuple[int, object]]) -> list[tuple[int, float]]:
    return [(index, loss) for index, value in pairs if (loss := real(value)) is not None]


def auroc_axis(rows: Sequence[Finding]) -> Scale:
    """One axis for all rows of a page, in per cent of the cell: 0.4 to 0.7, wider when an interval needs it."""
    shown = [(row.low, row.high, row.auroc, row.base, *(row.adjusted or ())) for row in rows]
    known = [value for values in shown for value in values if value is not None]
    return Scale(min([0.4, *(value - 0.01 for value in known)]), max([0.7, *(value + 0.01 for value in known)]), 0, 100)


def auroc_ticks(scale: Scale) -> Markup:
    """The numbers above a column of intervals."""
    ticks = [
        element("text", f"{tick:.2g}", x=f"{scale(tick):.2f}%", y=13, text_anchor="middle") for tick in scale.ticks(4)
    ]
    return element("svg", *ticks, height=18, role="img", aria_label="AUROC axis")


def interval(row: Finding, scale: Scale) -> Markup:
    """Dot and interval on the axis, the 0.5 line, the base model as a hollow mark. A square marks a leak.

    The interval for all attacks together is a thinner line behind.
    """
    half = element("line", x1=_percent(scale, 0.5), x2=_percent(scale, 0.5), y1=0, y2=30, class_="half")
    marks = [half]
    kind = "leak " if row.leaks else ""
    if row.adjusted:
        left, right = (_percent(scale, bound) for bound in row.adjusted)
        marks.append(element("line", x1=left, x2=right, y1=15, y2=15, class_=f"{kind}whisker"))
    if row.low is not None and row.high is not None:
        low, high = _percent(scale, row.low), _percent(scale, row.high)
        marks.append(element("line", x1=low, x2=high, y1=15, y2=15, class_=f"{kind}bar"))
    if row.base is not None:
        marks.append(element("circle", cx=_percent(scale, row.base), cy=15, r=4.5, class_="hollow"))
    if row.auroc is not None:
        marks.append(_mark(_percent(scale, row.auroc), row.leaks, f"{kind}dot"))
    return element("svg", *marks, height=30, role="img", aria_label=f"{row.name}: AUROC {row.text}")


def _mark(x: str, square: bool, class_: str) -> Markup:
    if not square:
        return element("circle", cx=x, cy=15, r=4, class_=class_)
    square_mark = element("rect", x=-4, y=-4, width=8, height=8, class_=class_)
    return element("svg", square_mark, x=x, y=15, overflow="visible", aria_hidden="true")


def _percent(scale: Scale, value: float) -> str:
    return f"{scale(value):.2f}%"


def bar(share: float, label: str, class_: str) -> Markup:
    """A bar over `share` (0 to 1) of the cell."""
    width = f"{100 * min(1.0, max(0.0, share)):.2f}%"
    return element(
        "svg",
        element("rect", x=0, y=3, width=width, height=16, rx=2, class_=class_),
        height=22,
        role="img",
        aria_label=label,
    )
