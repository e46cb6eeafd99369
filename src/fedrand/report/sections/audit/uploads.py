"""The leak of single uploads over the run: what a switch of halves and a lone sender add."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from fedrand.report.amounts import interval, number, plain, real
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, part, table
from fedrand.report.svg import Scale, axes, frame, padded, path

KIND = "Leak over rounds"
MOST = 480  # uploads drawn and listed, the newest
WIDTH = 480


def uploads(audit: Json) -> Markup | None:
    """A point per upload, the line through the rounds' means."""
    entries = audit.get("rounds")
    if not isinstance(entries, list):
        return None
    known = [
        entry for entry in entries if real(entry.get("auroc")) is not None and real(entry.get("round")) is not None
    ]
    if not known:
        return part(
            KIND, _finding(known), element("p", "No upload has a figure."), *_numbers(entries), name="over-rounds"
        )
    cut = f"Drawn and listed: the newest {MOST} of {len(entries)} uploads. The rest is in audit.json."
    note = [element("p", cut, class_="note")] if len(entries) > MOST else []
    drawn = element("figure", _drawn(known[-MOST:]), class_="time")
    return part(KIND, _finding(known), _key(), drawn, *note, *_numbers(entries[-MOST:]), name="over-rounds")


def _finding(known: Sequence[Json]) -> str:
    if not known:
        return "No upload was attacked by itself"
    sides = {
        "after a switch of halves": [entry for entry in known if entry.get("switched") is True],
        "without": [entry for entry in known if entry.get("switched") is not True],
        "lone senders": [entry for entry in known if entry.get("alone") is True],
    }
    words = [f"{number(_mean(found))} {name} ({len(found)})" for name, found in sides.items() if found]
    return f"Mean AUROC of one upload: {', '.join(words)}"


def _mean(entries: Iterable[Json]) -> float:
    return fmean(float(entry["auroc"]) for entry in entries)


def _drawn(known: Sequence[Json]) -> Markup:
    turns = sorted({int(entry["round"]) for entry in known})
    means = {turn: _mean(entry for entry in known if entry["round"] == turn) for turn in turns}
    bounds = [
        value for entry in known for name in ("auroc", "low", "high") if (value := real(entry.get(name))) is not None
    ]
    x = Scale(turns[0] - 0.5, turns[-1] + 0.5, 52, WIDTH - 12)
    y = Scale(*padded([0.5, *bounds]), 235, 10)
    title = f"AUROC of single uploads over rounds {turns[0]} to {turns[-1]}: {number(means[turns[0]])} to {number(means[turns[-1]])}"
    places = {turn: [entry for entry in known if entry["round"] == turn] for turn in turns}
    spread = [
        (entry, x(turn + 0.5 * ((place + 1) / (len(found) + 1) - 0.5)))
        for turn, found in places.items()
        for place, entry in enumerate(found)
    ]
    return frame(
        WIDTH,
        280,
        title,
        axes(x, y, "round", "AUROC of the upload", whole=True),
        element("line", x1=x.start, x2=x.end, y1=y(0.5), y2=y(0.5), class_="half"),
        *(_bar(entry, across, y) for entry, across in spread),
        path([(x(turn), y(mean)) for turn, mean in means.items()], "mean"),
        *(_mark(entry, across, y(float(entry["auroc"]))) for entry, across in spread),
    )


def _bar(entry: Json, x: float, y: Scale) -> Markup:
    low, high = real(entry.get("low")), real(entry.get("high"))
    return (
        element("g")
        if low is None or high is None
        else element("line", x1=x, x2=x, y1=y(low), y2=y(high), class_="whisker")
    )


def _mark(entry: Json, x: float, y: float) -> Markup:
    ring = [element("circle", cx=x, cy=y, r=8, class_="ring")] if entry.get("alone") is True else []
    shape = (
        _square(x, y) if entry.get("switched") is True else element("circle", cx=x, cy=y, r=3.5, class_="hollow still")
    )
    words = f"{plain(entry.get('client'))}, round {plain(entry.get('round'))}: {_figure(entry)}"
    return element("g", element("title", words), *ring, shape)


def _square(x: float, y: float) -> Markup:
    return element("rect", x=x - 4, y=y - 4, width=8, height=8, class_="leak dot")


def _figure(entry: Json) -> str:
    return interval(entry.get("auroc"), entry.get("low"), entry.get("high"))


def _key() -> Markup:
    def key(mark: Markup) -> Markup:
        return element("svg", mark, class_="key", aria_hidden="true")

    words = (
        key(_square(9, 7)),
        " the client switched halves since it last took part: the server knows the start of all that it trained. ",
        key(element("circle", cx=9, cy=7, r=3.5, class_="hollow still")),
        " it did not. ",
        key(element("circle", cx=9, cy=7, r=6.5, class_="ring")),
        " the half's only sender. Line: mean of the round, no interval. Dashed: 0.5.",
    )
    return element("p", *words, class_="note")


def _numbers(entries: Sequence[Json]) -> list[Markup]:
    lines = [
        (
            plain(entry.get("round")),
            plain(entry.get("client")),
            _figure(entry),
            "yes" if entry.get("switched") is True else "no",
            "yes" if entry.get("alone") is True else "no",
        )
        for entry in entries
    ]
    headings = ("round", "client", "AUROC", "switched", "alone")
    return (
        [
            folded(
                f"In numbers, upload by upload: {len(lines)}",
                table(headings, lines, caption="Gradient cosine of one upload"),
            )
        ]
        if lines
        else []
    )
