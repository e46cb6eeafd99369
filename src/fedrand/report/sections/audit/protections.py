"""What the run did to protect its clients, and what that is worth."""

from collections.abc import Mapping

from fedrand.report.amounts import MISSING, number, plain, real
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part, table

KIND = "Protections"


def protections(audit: Json) -> Markup | None:
    """Guarantees first, then what only makes an attack harder."""
    found = audit.get("protections")
    if not isinstance(found, Mapping):
        return None
    group, epsilon = found.get("min_group"), found.get("epsilon")
    facts = {
        "differential privacy": "none"
        if not epsilon
        else f"{plain(found.get('accountant'))}, delta {plain(found.get('delta'))}",
        "smallest group averaged": "no minimum"
        if group is None
        else f"{plain(group)} senders, else the old half stays",
        "stratified draw of halves": "yes" if found.get("stratified") is True else "no",
    }
    words = (
        "Sending a half is no guarantee, nor is the secrecy of which: only clipping with noise bounds epsilon, the lower the "
        "better, and it is that of the tensors: the number of examples beside them is sent exactly. "
        "A group minimum with a stratified draw ends the reading off of lone senders, nothing more."
    )
    whole = table(("protection", "in this run"), facts.items(), caption="As recorded by the audit", class_="text")
    return part(KIND, _finding(epsilon), element("p", words, class_="note"), whole, *_each(epsilon), name="protections")


def _finding(epsilon: object) -> str:
    known = (
        [value for value in map(real, epsilon.values()) if value is not None] if isinstance(epsilon, Mapping) else []
    )
    if not known:
        return "No formal guarantee: nothing bounds epsilon"
    return (
        f"Epsilon is at most {number(max(known))} for every one of {len(known)} clients"
        if len(known) > 1
        else f"Epsilon is at most {number(known[0])} for the one client"
    )


def _each(epsilon: object) -> list[Markup]:
    if not isinstance(epsilon, Mapping) or not epsilon:
        return []
    lines = [(plain(name), number(value) if real(value) is not None else MISSING) for name, value in epsilon.items()]
    return [table(("client", "epsilon at most"), lines, caption="Epsilon spent by each client over the whole run")]
