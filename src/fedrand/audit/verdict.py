"""The verdict on each adversary: whether a leak is resolved, and where none is, what may be said instead.

"No leak" only where every attack is shown equivalent to a coin, beside the least leak that would have shown; "private" is
never a result.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fedrand.audit.statistics import MARGIN
from fedrand.audit.threats import THREATS, Sight, Threat
from fedrand.audit.wording import Line, bounds, reading, too_few

NEEDS = {  # what an attack must see, by the weakest adversary that its row is labelled with
    "T0": {Sight.FINAL},
    "T1": {Sight.FINAL, Sight.BROADCASTS},
    "T3": {Sight.BROADCASTS, Sight.UPLOADS},
    "T3+": {Sight.BROADCASTS, Sight.UPLOADS, Sight.OTHERS},
    "Tinf": {Sight.TRUTH},
}
UNTESTED = {
    "T0": ("prompts made to draw training text out of the model",),
    "T1": ("traffic analysis of timing",),
    "T2": ("sums of uploads within one round, weighed against each other over many rounds",),
    "T3": ("reconstruction of images or texts from an update", "a server that alters what it sends"),
    "T3+": ("linking a record to a client across uploads",),
    "T4": (
        "a client that takes its own upload out of an average that it went into",
        "a client that sends updates made to draw others' data out",
    ),
    "Tinf": (),
}
SHOWN = ("threat", "model", "attack", "slice", "auroc", "low", "high", "level", "adjusted")


def threats(rows: Iterable[Line], epsilons: Iterable[Line]) -> list[dict[str, Any]]:
    """The part "threats" of audit.json: per adversary the attack that went best for it, held to the correction for
    having tried many, what is shown of all its attacks together, and the largest epsilon that its canaries prove."""
    rows, epsilons = list(rows), list(epsilons)
    return [_threat(threat, rows, epsilons) for threat in THREATS.values()]


def _threat(threat: Threat, rows: Sequence[Line], epsilons: Sequence[Line]) -> dict[str, Any]:
    tried = [row for row in rows if row["applies"] and reachable(row, threat)]
    able = _enough(tried) or tried
    worst = max(able, key=lambda row: (leaks(row), bounds(row)[0]), default=None)
    proofs, said = [one for one in epsilons if reachable(one, threat)], status(worst, tried)
    found = {
        "id": threat.id,
        "adversary": threat.adversary,
        "sees": threat.sees,
        "tested": bool(tried),
        "status": said,
        "worst": worst and {key: worst[key] for key in SHOWN} | {"tpr": worst["tpr"]["0.01"]},
        "equivalence": together(tried),
        "epsilon": max(proofs, key=lambda one: one["low"], default=None),
        "not_tested": list(UNTESTED[threat.id]),
    }
    return found | {"sentence": reading(found, worst, beside(said, tried))}


def reachable(line: Line, threat: Threat) -> bool:
    """Whether the adversary sees what this line's attack needs."""
    return line["threat"] in NEEDS and NEEDS[line["threat"]] <= threat.has


def leaks(row: Line) -> bool:
    """Above a coin by the interval for all attacks together, and above the base model on the same items; a confounded
    row counts by what it adds to the blind classifier alone."""
    if row["confounded"]:
        return row["over_blind"] is not None and row["over_blind"]["low"] > 0
    return bounds(row)[0] > 0.5 and (row["over_base"] is None or row["over_base"]["low"] > 0)


def status(worst: Line | None, tried: Sequence[Line]) -> str:
    """The verdict in a few words; `worst`: the clearest of those `tried` that have enough examples."""
    if worst is None:
        return "no figure"
    known = {
        "too few examples": bool(too_few(worst)),
        "leak found": leaks(worst),
        "confounded": worst["confounded"],
        "no leak found": all(map(_equivalent, tried)),
        "score reversed": any(bounds(row)[1] < 0.5 for row in _enough(tried)),
    }
    return next((words for words, holds in known.items() if holds), "not resolved")


def together(tried: Sequence[Line]) -> dict[str, Any] | None:
    """What is shown of all attacks of one adversary: that each lies within the margin of a coin needs no correction (an
    intersection-union test); `above` is the bound that no attack's corrected interval passes, `detectable` the least
    AUROC that every attack would have shown, 0.5 being a coin."""
    if not tried:
        return None
    return {
        "margin": MARGIN,
        "level": tried[0]["level"],
        "attacks": len(tried),
        "equivalent": sum(map(_equivalent, tried)),
        "low": min(row["equivalence"]["low"] for row in tried),
        "high": max(row["equivalence"]["high"] for row in tried),
        "above": max(bounds(row)[1] for row in tried),
        "detectable": max(row["adjusted_detectable"] or row["detectable"] for row in tried),
    }


def _equivalent(row: Line) -> bool:
    return row["equivalence"]["equivalent"] and not row["confounded"] and not too_few(row)


def _enough(tried: Sequence[Line]) -> list[Line]:
    """Those with enough examples to say something."""
    return [row for row in tried if not too_few(row)]


def beside(said: str, tried: Sequence[Line]) -> Line | None:
    """The attack that is told beside the clearest: the most reversed one, or the one least like a coin."""
    if said == "score reversed":
        return min(_enough(tried), key=lambda row: bounds(row)[1])
    tosts = [(row, row["equivalence"]) for row in tried]
    return max(tosts, key=lambda one: max(0.5 - one[1]["low"], one[1]["high"] - 0.5), default=(None,))[0]
