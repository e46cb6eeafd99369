"""A comparison as files: a page, a drawing on its own, and the table in three forms."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from fedrand.report.comparison import Comparison
from fedrand.report.markup import Markup, element, section, table
from fedrand.report.plane import Point, plane
from fedrand.report.sections.glossary import glossary
from fedrand.report.theme import METHOD_COLOURS, page, style
from fedrand.tensorfile import write_atomic


def write_comparison(
    comparison: Comparison, metric: str, points: Sequence[Point], worst: Markup | None, out: Path
) -> None:
    """compare.html, .csv, .json and .md in the folder `out`, and .svg when there is a point to draw.

    metric: the name of the utility; worst: the section on each adversary's worst attack, None without any.
    """
    methods = dict.fromkeys(point.method for point in points)
    colours = {method: METHOD_COLOURS[index % len(METHOD_COLOURS)] for index, method in enumerate(methods)}
    label = f"{metric}, test"
    if points:
        write_atomic(out / "compare.svg", plane(points, colours, label, style("drawing.css")))
    picture = plane(points, colours, label) if points else element("p", "No run is audited: there is nothing to draw.")
    write_atomic(out / "compare.html", _page(comparison, picture, worst))
    write_atomic(out / "compare.csv", _csv(comparison))
    document = {
        "rows": comparison.rows,
        "warnings": comparison.warnings,
        "unpaired": comparison.unpaired,
        "note": comparison.note,
    }
    write_atomic(out / "compare.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_atomic(out / "compare.md", _markdown(comparison))


def _page(comparison: Comparison, picture: Markup, worst: Markup | None) -> str:
    notes = [element("p", words, class_="banner", role="note") for words in comparison.warnings]
    words = "Bars: the AUROC's interval, and one standard deviation over clients. Numbers: the runs as in the table."
    return page(
        f"fedrand: {len(comparison.rows)} runs compared",
        element("h1", f"{len(comparison.rows)} runs compared"),
        *notes,
        section("Table", _table(comparison), *_unpaired(comparison), name="table"),
        *([] if worst is None else [worst]),
        section("Utility against leakage", element("figure", picture, element("figcaption", words)), name="plot"),
        *([glossary(comparison.words)] if comparison.words else []),
    )


def _unpaired(comparison: Comparison) -> list[Markup]:
    items = [element("li", words) for words in comparison.unpaired]
    return [element("ul", *items, class_="note")] if items else []


def _table(comparison: Comparison) -> Markup:
    """A figure per line and a run per column: few runs fit a phone, many scroll sideways."""
    run, *rest = comparison.turned()
    numbered = [f"{index}. {name}" for index, name in enumerate(run[1:], 1)]
    return table((run[0], *numbered), rest, caption=comparison.note, class_="compared")


def _csv(comparison: Comparison) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, comparison.names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(comparison.rows)
    return buffer.getvalue()


def _markdown(comparison: Comparison) -> str:
    lines = [comparison.headings, ["---"] * len(comparison.columns), *comparison.texts()]
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return (
        "\n".join(
            [*rows, "", comparison.note, *(f"\n- {words}" for words in (*comparison.warnings, *comparison.unpaired))]
        )
        + "\n"
    )
