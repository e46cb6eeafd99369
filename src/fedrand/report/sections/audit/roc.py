"""ROC curves on two log axes: what an attacker finds who can afford few false alarms."""

import math
from collections.abc import Mapping, Sequence

from fedrand.report.amounts import MISSING, count, interval, pick, plain, real
from fedrand.report.finding import Finding, findings
from fedrand.report.leakage import SHORT
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, join, part, table
from fedrand.report.svg import Scale, frame, path

KIND = "ROC curves"
WIDTH, HEIGHT, LEFT, BOTTOM = 320, 290, 46, 246
ENOUGH = 10  # false positives below which no rate is given
RATES = {"0.05": "5%", "0.01": "1%", "0.001": "0.1%"}

Key = tuple[str, str, str, str]
Curve = dict[str, list[float]]


def roc(audit: Json) -> Markup | None:
    """A panel per headline row, with the rates at fixed false positive rates below."""
    entries = audit.get("roc")
    if not isinstance(entries, list):
        return None
    rows = {row.key: row for row in findings(audit, "P1")}
    panels = [
        _panel(key, curve, rows.get(key)) for entry in entries if (curve := _curve(entry)) and (key := key_of(entry))
    ]
    words = (
        "Both axes are logarithmic. Line and band: the share of members found and its interval; dashed: a coin. "
        f"Left of the dotted line fewer than {ENOUGH} non-members decide, so no rate is read there."
    )
    chosen = [rows[key] for key in map(key_of, entries) if key in rows]
    return part(
        KIND,
        _finding(chosen),
        element("p", words, class_="note"),
        element("div", *panels, class_="panels") if panels else element("p", "No curve has a point."),
        *([_rates(chosen)] if chosen else []),
        *_points(entries),
        name="roc",
    )


def key_of(entry: Mapping[str, object]) -> Key:
    """What names the row of P1 that a curve or a histogram belongs to."""
    threat, model, attack, part = (str(entry.get(name) or "") for name in ("threat", "model", "attack", "slice"))
    return threat, model, attack, part


def title_of(key: Key) -> str:
    """The same in words."""
    threat, model, attack, part = key
    return f"{threat}, {SHORT.get(model, model)}: {', '.join(filter(None, (attack, part)))}"


def _curve(entry: object) -> Curve | None:
    """The points whose false positive rate is above 0; None when there is none or the columns differ in length."""
    columns = {name: pick(entry, name) for name in ("fpr", "tpr", "low", "high")}
    if not all(isinstance(column, list) for column in columns.values()):
        return None
    lines = list(zip(*columns.values(), strict=False))  # type: ignore[arg-type]
    points = [line for line in lines if all(real(value) is not None for value in line) and line[0] > 0]
    return dict(zip(columns, map(list, zip(*points, strict=True)), strict=True)) if points else None


def _panel(key: Key, curve: Curve, row: Finding | None) -> Markup:
    least = 10.0 ** math.floor(math.log10(min(curve["fpr"])))
    x = Scale(math.log10(least), 0, LEFT, WIDTH - 20)
    y = Scale(math.log10(least), 0, BOTTOM, 10)
    line = {
        name: [(x(math.log10(f)), y(_log(t, least))) for f, t in zip(curve["fpr"], curve[name], strict=True)]
        for name in ("tpr", "low", "high")
    }
    band = path([*line["low"], *reversed(line["high"])], "band")
    found = f"finds {row.rate()} of members at 1% false positives" if row else "share of members found"
    drawn = frame(
        WIDTH,
        HEIGHT,
        f"ROC curve, {title_of(key)}: {found}",
        _grid(x, y, least),
        path([(x.start, y.start), (x.end, y.end)], "half"),
        *_border(row, x, y),
        band,
        path(line["tpr"], "mean"),
    )
    at = f"At 1% false positives: {row.rate()}" if row else ""
    return element("figure", element("figcaption", element("b", title_of(key)), " ", at), drawn)


def _log(value: float, least: float) -> float:
    return math.log10(max(value, least))


def _border(row: Finding | None, x: Scale, y: Scale) -> list[Markup]:
    if row is None or not row.others or row.others <= ENOUGH:
        return []
    at = x(math.log10(ENOUGH / row.others))
    return [element("line", x1=at, x2=at, y1=y.end, y2=y.start, class_="border")]


def _grid(x: Scale, y: Scale, least: float) -> Markup:
    powers = range(round(math.log10(least)), 1)
    return join(
        [
            *(element("line", x1=x(p), x2=x(p), y1=y.end, y2=y.start, class_="rule") for p in powers),
            *(element("line", x1=x.start, x2=x.end, y1=y(p), y2=y(p), class_="rule") for p in powers),
            *(element("text", _percent(p), x=x(p), y=y.start + 16, text_anchor="middle") for p in powers),
            *(element("text", _percent(p), x=x.start - 5, y=y(p) + 4, text_anchor="end") for p in powers),
            element("text", "false positive rate", x=(x.start + x.end) / 2, y=y.start + 34, text_anchor="middle"),
            element("text", "members found", x=x.start + 6, y=y.end + 12),
        ]
    )


def _percent(power: int) -> str:
    return f"{100 * 10.0**power:g}%"


def _finding(rows: Sequence[Finding]) -> str:
    able = [row for row in rows if (rate := (row.rates or {}).get("0.01")) and rate.bounds.value is not None]
    if not able:
        return "No share of members found at 1% false positives could be given"
    top = max(able, key=lambda row: (row.rates or {})["0.01"].bounds.value or 0.0)
    return f"At 1% false positives, {top.threat} {top.name} finds {top.rate()} of the members; a coin finds 0.010"


def _rates(rows: Sequence[Finding]) -> Markup:
    lines = [
        (title_of(row.key), *(row.rate(at) for at in RATES), f"{count(row.members)} / {count(row.others)}")
        for row in rows
    ]
    headings = ("attack", *(f"at {shown} FPR" for shown in RATES.values()), "members / others")
    return table(
        headings,
        lines,
        caption="Share of members found (TPR), the threshold estimated again in each replicate",
        class_="rates",
    )


def _points(entries: Sequence[object]) -> list[Markup]:
    lines = [
        (title_of(key_of(entry)) if not index else "", plain(f), interval(t, low, high))  # type: ignore[arg-type]
        for entry in entries
        if (curve := _curve(entry))
        for index, (f, t, low, high) in enumerate(zip(*curve.values(), strict=True))
    ]
    return (
        [folded("The curves in numbers", table(("curve", "FPR", "TPR"), lines, caption="Points of the curves"))]
        if lines
        else [element("p", MISSING)]
    )
