"""What classifiers find that never saw a trained model: the audit's own zero."""

from collections.abc import Mapping

from fedrand.report.amounts import count, interval, plain, real
from fedrand.report.charts import auroc_axis, auroc_ticks
from fedrand.report.charts import interval as drawn
from fedrand.report.finding import Finding
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part, table

KIND = "Controls"
WORDS = {
    "blind_text": "blind text: words and length alone",
    "blind_image": "blind image: pixels or frozen features alone",
    "permutation": "labels dealt at random",
}


def controls(audit: Json) -> Markup | None:
    """A row per control."""
    found = audit.get("controls")
    if not isinstance(found, Mapping):
        return None
    rows = [_row(name, figures) for name, figures in found.items() if isinstance(figures, Mapping)]
    words = "Each should cover 0.5. Where a blind classifier lies above it, members and others differ by more than membership."
    missing = [WORDS[name] for name in WORDS if not isinstance(found.get(name), Mapping)]
    body = [_table(rows)] if rows else []
    gaps = [element("p", f"Not run: {'; '.join(missing)}.", class_="note")] if missing else []
    return part(KIND, _finding(rows), element("p", words, class_="note"), *body, *gaps, name="controls")


def _row(name: str, figures: Mapping[str, object]) -> Finding:
    auroc, low, high = (real(figures.get(part)) for part in ("auroc", "low", "high"))
    members, others = (real(figures.get(part)) for part in ("n_members", "n_nonmembers"))
    return Finding(
        "control",
        "blind",
        WORDS.get(name, name),
        "",
        auroc=auroc,
        low=low,
        high=high,
        members=None if members is None else int(members),
        others=None if others is None else int(others),
    )


def _finding(rows: list[Finding]) -> str:
    able = [row for row in rows if row.low is not None and row.high is not None]
    off = [row for row in able if not (row.low or 0.0) <= 0.5 <= (row.high or 0.0)]
    if not able:
        return "No control gave a figure"
    if not off:
        return f"All {len(able)} controls cover 0.5: the sides differ by membership alone, as far as these can tell"
    names = "; ".join(f"{row.name}, AUROC {row.text}" for row in off)
    return f"{len(off)} of {len(able)} controls miss 0.5: {names}"


def _table(rows: list[Finding]) -> Markup:
    scale = auroc_axis(rows)
    lines = [
        (
            row.name,
            drawn(row, scale),
            interval(row.auroc, row.low, row.high),
            f"{count(row.members)} / {count(row.others)}",
        )
        for row in rows
    ]
    headings = ("control", auroc_ticks(scale), "AUROC", "members / others")
    return table(
        headings,
        lines,
        caption=f"Controls, cross-fitted; {plain(len(rows))} of {len(WORDS)} run",
        class_="forest",
        columns=("", "plot", "", "extra size"),
    )
