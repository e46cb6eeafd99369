"""What an audit's figures may be read as, in plain words, whichever way they fall."""

from collections.abc import Mapping
from typing import Any

Line = Mapping[str, Any]
NOT_TESTED = (
    "a malicious server that alters the broadcast or the base model: clients verify the base model's hash, nothing else",
    "extraction or reconstruction of examples: membership alone is measured",
    "attacks that are not in the list, such as shadow models trained to be like each client over all rounds",
)
SUBJECTS = {
    "server": "the server's model",
    "client": "the clients' models as the server can rebuild them",
    "oracle": "the clients' true models, which the server does not have",
    "update": "the clients' uploads",
}
FEW = 20  # examples of a side, below which a figure is no ground for any statement


def too_few(row: Line) -> str:
    """Why a row says nothing, where it has too few examples; else empty."""
    members, others = row["n_members"], row["n_nonmembers"]
    return f"{members} members and {others} others are too few to say anything." if min(members, others) < FEW else ""


def bounds(row: Line) -> tuple[float, float]:
    """The interval for all attacks together, or the row's own where it belongs to no family (the oracle's)."""
    low, high = row["adjusted"] or (row["low"], row["high"])
    return low, high


def reading(found: Line, worst: Line | None, other: Line | None) -> str:
    """One adversary's verdict, by its entry in audit.json. worst: the row that went best for it; other: the one that is
    least like a coin, or most reversed."""
    if worst is None or other is None:
        return "No attack of this adversary gave a figure."
    return READINGS[found["status"]](found["equivalence"], worst, other)


def _too_few(whole: Line, worst: Line, other: Line) -> str:
    return too_few(worst)


def _leak(whole: Line, worst: Line, other: Line) -> str:
    if worst["confounded"]:
        return f"Membership leaks beyond what the sides show without any model. {over_blind(worst)}."
    return f"Membership leaks. Worst attack: {attack(worst)}, {_corrected(worst)}."


def _confounded(whole: Line, worst: Line, other: Line) -> str:
    return f"Confounded: on the clients of this row members and others differ without any model. {over_blind(worst)}."


def _no_leak(whole: Line, worst: Line, other: Line) -> str:
    """The most that is ever said."""
    return (
        f"No leak found above AUROC {whole['above']:.3f} at {whole['level']:.0%}, minimum detectable {whole['detectable']:.3f}: "
        f"{_count(whole)} shown equivalent to a coin within {whole['margin']:g} (TOST at {whole['level']:.0%}: "
        f"{whole['low']:.3f} to {whole['high']:.3f}). The nearest to a leak: {attack(worst)}, {_corrected(worst)}."
    )


def _unresolved(whole: Line, worst: Line, other: Line) -> str:
    return (
        f"Not resolved: no attack shows a leak, but not all are shown equivalent to a coin within {whole['margin']:g} (TOST at "
        f"{whole['level']:.0%}: {whole['equivalent']} of {whole['attacks']} are; furthest {attack(other)}, {tost(other)}). "
        f"An AUROC up to {whole['above']:.3f} is not ruled out at {whole['level']:.0%}, minimum detectable "
        f"{whole['detectable']:.3f}. The nearest to a leak: {attack(worst)}, {_corrected(worst)}."
    )


def _reversed(whole: Line, worst: Line, other: Line) -> str:
    return (
        f"Below a coin, so a score is reversed or the halves differ; not a clean result: {attack(other)}, "
        f"{_corrected(other)}. The nearest to a leak: {attack(worst)}, {_corrected(worst)}; minimum detectable "
        f"{whole['detectable']:.3f}."
    )


READINGS = {
    "too few examples": _too_few,
    "leak found": _leak,
    "confounded": _confounded,
    "score reversed": _reversed,
    "no leak found": _no_leak,
    "not resolved": _unresolved,
}


def _count(whole: Line) -> str:
    count = whole["attacks"]
    return f"all {count} attacks are" if count > 1 else "the one attack is"


def attack(row: Line) -> str:
    return f"{row['attack']} ({row['slice']}) on {SUBJECTS[row['model']]}"


def _corrected(row: Line) -> str:
    low, high = bounds(row)
    told = ", corrected for the number of attacks" if row["adjusted"] else ""
    return f"AUROC {row['auroc']:.3f} [{low:.3f}, {high:.3f}] at {row['level']:.0%}{told}"


def over_blind(row: Line) -> str:
    """A confounded row's only honest figure."""
    over = row["over_blind"]
    if over is None:
        return f"{attack(row)}: no figure over a classifier that saw no model"
    told = ", corrected for the number of attacks" if row["adjusted"] else ""
    figure = f"{over['value']:+.3f} [{over['low']:+.3f}, {over['high']:+.3f}]{told}"
    return f"{attack(row)} over a classifier that saw no model, paired: {figure}"


def tost(row: Line) -> str:
    return f"[{row['equivalence']['low']:.3f}, {row['equivalence']['high']:.3f}]"
