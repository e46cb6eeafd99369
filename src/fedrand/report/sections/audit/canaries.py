"""Canaries put in by a fair coin: a lower bound on epsilon (one-run audit)."""

from collections.abc import Mapping

from fedrand.report.amounts import flat, number, pick, plain, real
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part, table

KIND = "Canaries"


def canaries(audit: Json) -> Markup | None:
    """The bounds that the guesses proved."""
    found = pick(audit, "protocols", "P3")
    if not isinstance(found, Mapping):
        return None
    given = found.get("epsilon")
    entries = [flat(entry) for entry in given if isinstance(entry, Mapping)] if isinstance(given, list) else []
    headings = list(dict.fromkeys(name for entry in entries for name in entry))
    lines = [[plain(entry.get(name)) for name in headings] for entry in entries]
    body = (
        table(headings, lines, caption="Bounds, as the audit wrote them")
        if lines
        else element("p", "No bound was computed.")
    )
    return part(KIND, _finding(found, entries), body, name="canaries")


def _finding(found: Mapping[str, object], entries: list[dict[str, object]]) -> str:
    lows = [low for entry in entries if (low := real(entry.get("low"))) is not None]
    put = f"{plain(found.get('canaries'))} canaries"
    return f"{put} prove that epsilon is at least {number(max(lows))}" if lows else f"{put} prove no bound on epsilon"
