"""Lone senders: a half with one sender comes back to everyone in the next broadcast, verbatim."""

from fedrand.report.amounts import plain
from fedrand.report.load import Json
from fedrand.report.markup import Markup, folded, part, table

KIND = "Lone senders"


def singletons(audit: Json) -> Markup | None:
    """Who was a half's only sender, and whether it was read off the broadcast."""
    entries = audit.get("singletons")
    if not isinstance(entries, list):
        return None
    recovered = sum(entry.get("recovered") is True for entry in entries)
    if not entries:
        return part(KIND, "No half had a single sender", name="singletons")
    lines = [
        (
            plain(entry.get("round")),
            plain(entry.get("part")),
            plain(entry.get("client")),
            "yes" if entry.get("recovered") is True else "no",
        )
        for entry in entries
    ]
    caption = "Recovered: two broadcasts in a row give the sender's half back, bit for bit"
    whole = table(("round", "part", "client", "recovered"), lines, caption=caption)
    finding = f"{recovered} of {len(entries)} halves with a single sender were read off the next broadcast, bit for bit"
    return part(
        KIND, finding, folded(f"The {len(entries)} in a table", whole, open_=len(entries) <= 10), name="singletons"
    )
