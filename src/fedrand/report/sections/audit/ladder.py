"""The reconstruction ladder: how near each estimate comes to a client's adapter, and how much it then leaks."""

from collections.abc import Sequence

from fedrand.report.amounts import MISSING, interval, number, pick, plain, real
from fedrand.report.charts import auroc_axis, auroc_ticks, bar
from fedrand.report.charts import interval as drawn
from fedrand.report.finding import Finding
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, part, table

KIND = "Reconstruction ladder"
TRUTH = "R0"


def ladder(audit: Json) -> Markup | None:
    """A row per rung: distance to the true adapter, and AUROC."""
    rungs = audit.get("ladder")
    if not isinstance(rungs, list):
        return None
    words = (
        "Distance: ||estimate - true|| / ||true||, mean over clients; 0 is the client's adapter itself, 1 is no better than "
        "guessing zeros. The claim about the client is the highest AUROC over the ladder, R0 apart: nobody but the client "
        "holds that."
    )
    body = [_table(rungs), *_each(rungs)] if rungs else [element("p", "No rung was built.")]
    return part(KIND, _finding(rungs), element("p", words, class_="note"), *body, name="ladder")


def _finding(rungs: Sequence[Json]) -> str:
    able = [rung for rung in rungs if rung.get("rung") != TRUTH and real(rung.get("auroc")) is not None]
    if not able:
        return "No rung gave a figure"
    top = max(able, key=lambda rung: rung["auroc"])
    return f"{top['rung']} leaks most: AUROC {_auroc(top)} at distance {number(top.get('distance'))} from the client's adapter"


def _auroc(rung: Json) -> str:
    return interval(rung.get("auroc"), rung.get("low"), rung.get("high"))


def _row(rung: Json) -> Finding:
    auroc, low, high = (real(rung.get(name)) for name in ("auroc", "low", "high"))
    return Finding("", "client", plain(rung.get("rung")), "", auroc=auroc, low=low, high=high)


def _table(rungs: Sequence[Json]) -> Markup:
    scale = auroc_axis([_row(rung) for rung in rungs])
    lines = [
        (
            f"{plain(rung.get('rung'))}, {plain(rung.get('title'))}",
            drawn(_row(rung), scale),
            _auroc(rung),
            number(rung.get("distance")),
            _bar(rung),
        )
        for rung in rungs
    ]
    headings = ("rung", auroc_ticks(scale), "AUROC", "distance", "")
    return table(
        headings,
        lines,
        caption="Estimates of a client's adapter",
        class_="forest rungs",
        columns=("", "plot", "", "extra distance", "extra far"),
    )


def _bar(rung: Json) -> Markup | str:
    distance = real(rung.get("distance"))
    label = f"{plain(rung.get('rung'))}: distance {number(distance)}"
    return MISSING if distance is None else bar(distance, label, "fill fedavg")


def _each(rungs: Sequence[Json]) -> list[Markup]:
    names = list(dict.fromkeys(name for rung in rungs for name in (rung.get("per_client") or {})))
    lines = [
        (
            name,
            *(
                f"{number(pick(rung, 'per_client', name, 'distance'), 2)} / {number(pick(rung, 'per_client', name, 'auroc'), 2)}"
                for rung in rungs
            ),
        )
        for name in names
    ]
    headings = ("client", *(plain(rung.get("rung")) for rung in rungs))
    caption = "Distance / AUROC within each client, no interval"
    return [folded("Client by client", table(headings, lines, caption=caption))] if lines else []
