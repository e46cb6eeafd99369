"""Who holds what: a row per client, a column per class, the number in each cell and its size as depth of colour."""

from collections.abc import Mapping, Sequence

from fedrand.report.markup import Markup, element
from fedrand.report.svg import NAMESPACE, frame

WIDE, HIGH, LEFT, TOP = 38, 24, 120, 130
DEEPEST = 0.75  # of the colour, for the largest cell


def dealt(clients: Mapping[str, Mapping[str, int]], style: str = "") -> Markup:
    """Clients by classes with the sums at the right; with `style` a file on its own."""
    labels = sorted({label for counts in clients.values() for label in counts})
    largest = max((count for counts in clients.values() for count in counts.values()), default=0)
    width, height = LEFT + WIDE * (len(labels) + 2) + 40, TOP + HIGH * len(clients) + 40
    rows = [
        _row(index, name, [clients[name].get(label, 0) for label in labels], largest)
        for index, name in enumerate(clients)
    ]
    key = f"examples a client trains on, by class; the deepest colour is {largest}"
    return frame(
        width,
        height,
        f"What each of {len(clients)} clients holds of {len(labels)} classes",
        *([element("style", style)] if style else []),
        element("rect", width=width, height=height, fill="var(--page)"),
        *(_heading(index, label or "(no label)") for index, label in enumerate([*labels, "all"])),
        *rows,
        element("text", key, x=10, y=height - 14),
        xmlns=NAMESPACE if style else None,
    )


def _heading(index: int, words: str) -> Markup:
    place = f"translate({LEFT + WIDE * (index + 0.5) + 4:.2f} {TOP - 8}) rotate(-60)"
    return element("g", element("text", _short(words, 22)), transform=place)


def _row(index: int, name: str, counts: Sequence[int], largest: int) -> Markup:
    up = TOP + HIGH * index
    cells = [_cell(LEFT + WIDE * column, up, count, largest) for column, count in enumerate(counts)]
    total = _number(LEFT + WIDE * len(counts), up, sum(counts), "number")
    return element("g", element("text", _short(name, 16), x=LEFT - 8, y=up + 16, text_anchor="end"), *cells, total)


def _cell(left: int, up: int, count: int, largest: int) -> Markup:
    if not count:
        return _number(left, up, 0)
    depth = DEEPEST * count / largest
    box = element("rect", x=left + 1, y=up + 1, width=WIDE - 2, height=HIGH - 2, fill_opacity=depth, class_="fill")
    return element("g", box, _number(left, up, count, "count"))


def _number(left: int, up: int, count: int, class_: str | None = None) -> Markup:
    return element("text", str(count), x=left + WIDE / 2, y=up + 16, text_anchor="middle", class_=class_)


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
