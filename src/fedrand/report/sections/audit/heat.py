"""Threat model against attack: a number in every cell, the colour only repeats it."""

from collections.abc import Iterable, Sequence

from fedrand.report.amounts import number
from fedrand.report.finding import Finding, findings
from fedrand.report.leakage import SHORT
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part, scrolling
from fedrand.report.threat import CALIBRATION

KIND = "Attacks by threat model"
ORDER = ("T0", "T1", "T2", "T3", "T3+", "T4", "Tinf", "control")
STEPS = (0.55, 0.6, 0.7, 0.8, 0.9)  # an AUROC of 0.55 or more is one step darker, and so on
CONFOUNDED, ADJUSTED = "\N{DOUBLE DAGGER}", "*"

Column = tuple[str, str]


def heat(audit: Json) -> Markup | None:
    """A row per attack and slice, a column per threat and model."""
    rows = findings(audit, "P1")
    if not rows:
        return None
    columns = sorted(dict.fromkeys((row.threat, row.model) for row in rows), key=_place)
    reasons = {reason: index for index, reason in enumerate(dict.fromkeys(r.reason for r in rows if r.reason), 1)}
    names = dict.fromkeys(row.name for row in rows)
    cells = {(row.name, row.threat, row.model): row for row in rows}
    body = [
        element(
            "tr",
            element("th", name, scope="row"),
            *(_cell(cells.get((name, *column)), reasons, column) for column in columns),
        )
        for name in names
    ]
    whole = element("table", _head(columns), element("tbody", *body))
    return part(KIND, _finding(rows), _key(), scrolling(whole, KIND, "heat"), *_notes(reasons, rows), name="attacks")


def _place(column: Column) -> tuple[int, str]:
    threat, model = column
    return (ORDER.index(threat) if threat in ORDER else len(ORDER), model)


def _head(columns: Sequence[Column]) -> Markup:
    heads = [element("th", threat, element("span", SHORT.get(model, model)), scope="col") for threat, model in columns]
    return element("thead", element("tr", element("th", "attack, slice", scope="col"), *heads))


def _cell(row: Finding | None, reasons: dict[str, int], column: Column) -> Markup:
    where = f"{column[0]}, {column[1]}"
    if row is None:
        return element("td", "\N{EN DASH}", class_="empty", title=f"{where}: not run")
    if row.auroc is None:
        return element(
            "td", "n/a", element("sup", str(reasons[row.reason])), class_="empty", title=f"{where}: {row.reason}"
        )
    marks = (CONFOUNDED if row.confounded else "") + (ADJUSTED if row.leaks else "")
    bounds = element("span", f"[{number(row.low, 2)}, {number(row.high, 2)}]")
    step = sum(row.auroc >= edge for edge in STEPS)
    return element("td", element("b", number(row.auroc) + marks), bounds, class_=f"h{step}", title=_title(row, where))


def _title(row: Finding, where: str) -> str:
    words = [f"{where}: {row.name}, AUROC {row.text}"]
    if row.over_base:
        words.append(f"over the base model {row.over_base.text}")
    if row.detectable:
        words.append(f"so many items show an AUROC of {number(row.detectable)} or more")
    if row.over_blind:
        words.append(f"over the blind classifier {row.over_blind.text}")
    return "; ".join(words)


def _finding(rows: Iterable[Finding]) -> str:
    tried = [row for row in rows if row.auroc is not None and row.threat not in ("control", *CALIBRATION)]
    if not tried:
        return "No attack gave a figure"
    leaks, off = sum(row.leaks for row in tried), sum(row.confounded for row in tried)
    doubt = f"; {off} confounded" if off else ""
    return f"{leaks} of {len(tried)} attacks show a leak{doubt}"


def _key() -> Markup:
    words = ("below .55", ".55", ".60", ".70", ".80", ".90 and more")
    steps = [element("span", text, class_=f"cell h{index}") for index, text in enumerate(words)]
    return element("p", "AUROC ", *steps, class_="note")


def _notes(reasons: dict[str, int], rows: Sequence[Finding]) -> list[Markup]:
    corrected = any(row.adjusted for row in rows)
    over = (
        "the interval for all attacks together"
        if corrected
        else "its own interval, not corrected for the number of attacks"
    )
    notes = [
        element(
            "p",
            f"{ADJUSTED} a leak: {over} lies above 0.5 and above the base model. {CONFOUNDED} confounded: a "
            "classifier that saw no model tells the two sides apart as well, so only the difference counts. "
            "\N{EN DASH} not run.",
            class_="note",
        )
    ]
    if reasons:
        items = [element("li", reason) for reason in reasons]
        notes.append(element("div", element("p", "n/a, because:"), element("ol", *items), class_="note"))
    return [*notes, *_over_blind(rows)]


def _over_blind(rows: Iterable[Finding]) -> list[Markup]:
    """A confounded row's only honest figure, in words."""
    items = [
        element("li", f"{row.threat}, {row.name}: AUROC over the blind classifier {row.over_blind.text}")
        for row in rows
        if row.confounded and row.over_blind
    ]
    return (
        [element("div", element("p", f"{CONFOUNDED} paired:"), element("ul", *items), class_="note")] if items else []
    )
