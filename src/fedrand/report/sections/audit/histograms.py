"""How the scores of members and of others lie, with those of the blind classifier over them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from fedrand.report.amounts import MISSING, number, pick, plain, real
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, join, part, table
from fedrand.report.sections.audit.roc import key_of, title_of
from fedrand.report.svg import Scale, axes, frame, path

KIND = "Scores of members and others"
SERIES = {"members": "members", "others": "others", "blind_members": "blind, members", "blind_others": "blind, others"}
WIDTH, HEIGHT = 340, 250

Shares = dict[str, list[float]]


def histograms(audit: Json) -> Markup | None:
    """A panel per headline row."""
    entries = audit.get("histograms")
    if not isinstance(entries, list):
        return None
    panels = [_panel(entry) for entry in entries]
    overlaps = {title_of(key_of(entry)): _overlap(_shares(entry)) for entry in entries}
    return part(KIND, _finding(overlaps), _key(entries), element("div", *panels, class_="panels"), name="scores")


def _shares(entry: Mapping[str, object]) -> Shares:
    """Each series as shares of its side, 0 to 1; a series that is missing, empty or of another length is left out."""
    bins = len(_edges(entry)) - 1
    known = {
        name: [real(value) or 0.0 for value in values] for name in SERIES if isinstance(values := entry.get(name), list)
    }
    return {
        name: [value / total for value in values]
        for name, values in known.items()
        if len(values) == bins and (total := sum(values)) > 0
    }


def _edges(entry: Mapping[str, object]) -> list[float]:
    edges = entry.get("edges")
    return [known for edge in edges if (known := real(edge)) is not None] if isinstance(edges, list) else []


def _overlap(shares: Shares) -> float | None:
    if "members" not in shares or "others" not in shares:
        return None
    return sum(map(min, shares["members"], shares["others"]))


def _finding(overlaps: Mapping[str, float | None]) -> str:
    known = {title: overlap for title, overlap in overlaps.items() if overlap is not None}
    if not known:
        return "No scores to show"
    title = min(known, key=lambda name: known[name])
    return (
        f"Members and others overlap by {known[title]:.0%} where they overlap least ({title}); 100% would show nothing"
    )


def _panel(entry: Mapping[str, object]) -> Markup:
    title, edges, shares = title_of(key_of(entry)), _edges(entry), _shares(entry)
    overlap = _overlap(shares)
    if overlap is None:
        return element("figure", element("figcaption", element("b", title), " has no scores"))
    words = f"overlap {overlap:.0%}"
    x = Scale(edges[0], edges[-1], 46, WIDTH - 12)
    y = Scale(0, max(max(values) for values in shares.values()) * 1.05, 205, 10)
    drawn = frame(
        WIDTH,
        HEIGHT,
        f"Histograms of scores, {title}: {words}",
        axes(x, y, "score, higher: more like a member", "share"),
        *(
            path(_steps(edges, shares[name], x, y), f"score {name.replace('_', ' ')}")
            for name in SERIES
            if name in shares
        ),
    )
    return element(
        "figure", element("figcaption", element("b", title), f" {words}"), drawn, _numbers(edges, shares, title)
    )


def _steps(edges: Sequence[float], shares: Sequence[float], x: Scale, y: Scale) -> list[tuple[float, float]]:
    tops = [(x(edge), y(share)) for index, share in enumerate(shares) for edge in edges[index : index + 2]]
    return [(x(edges[0]), y(0)), *tops, (x(edges[-1]), y(0))]


def _numbers(edges: Sequence[float], shares: Shares, title: str) -> Markup:
    names = [name for name in SERIES if name in shares]
    lines = [
        (f"{plain(low)} to {plain(high)}", *(number(shares[name][index]) for name in names))
        for index, (low, high) in enumerate(pairwise(edges))
    ]
    return folded(
        "In numbers", table(("score", *(SERIES[name] for name in names)), lines, caption=f"Shares per bin, {title}")
    )


def _key(entries: Sequence[Mapping[str, object]]) -> Markup:
    blind = any(pick(entry, "blind_members") for entry in entries)
    names = [name for name in SERIES if blind or not name.startswith("blind")]
    keys = [
        join(
            [
                element(
                    "svg",
                    element("path", d="M0 11V4H18V11", class_=f"score {name.replace('_', ' ')}"),
                    class_="key",
                    aria_hidden="true",
                ),
                f" {SERIES[name]} \N{NO-BREAK SPACE}",
            ]
        )
        for name in names
    ]
    end = "" if blind else f"No blind classifier's scores were kept ({MISSING})."
    return element("p", *keys, end, class_="note")
