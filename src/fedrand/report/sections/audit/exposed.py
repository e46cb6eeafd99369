"""The records that most attacks put on top."""

from collections.abc import Sequence

from fedrand.report.amounts import number, plain
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part, table

KIND = "Most exposed records"
MOST = 30


def exposed(audit: Json) -> Markup | None:
    """A line per record and attack, in the order of the file."""
    entries = audit.get("exposed")
    if not isinstance(entries, list):
        return None
    lines = [
        (
            plain(entry.get("client")),
            element("span", plain(entry.get("id")), class_="long"),
            plain(entry.get("attack")),
            number(entry.get("score"), 4),
            plain(entry.get("rank")),
        )
        for entry in entries[:MOST]
    ]
    caption = f"The first {len(lines)} of {len(entries)}; a score says nothing by itself, its rank does"
    body = [table(("client", "record", "attack", "score", "rank"), lines, caption=caption)] if lines else []
    return part(KIND, _finding(entries), *body, name="exposed")


def _finding(entries: Sequence[Json]) -> str:
    attacks: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        attacks.setdefault((plain(entry.get("client")), plain(entry.get("id"))), set()).add(plain(entry.get("attack")))
    if not attacks:
        return "No record stood out"
    (client, record), found = max(attacks.items(), key=lambda item: len(item[1]))
    times = "1 attack" if len(found) == 1 else f"{len(found)} attacks"
    return f"{record[:40]} of {client[:40]} stands out most: on top for {times}"
