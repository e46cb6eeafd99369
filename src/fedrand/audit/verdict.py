"""What an audit's figures say, in plain words, whichever way they fall; "private" is never a result."""

from collections.abc import Iterable, Mapping
from typing import Any

from fedrand.audit.threats import THREATS, Sight, Threat

Line = Mapping[str, Any]
FEW = 20  # examples of a side, below which a figure is no ground for any statement
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
    "T4": ("a client that sends updates made to draw others' data out",),
    "Tinf": (),
}
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


def threats(rows: Iterable[Line], epsilons: Iterable[Line]) -> list[dict[str, Any]]:
    """The part "threats" of audit.json: per adversary the attack that went best for it, held to the correction for
    having tried many, and the largest epsilon that its canaries prove."""
    rows, epsilons = list(rows), list(epsilons)
    return [_threat(threat, rows, epsilons) for threat in THREATS.values()]


def _threat(threat: Threat, rows: list[Line], epsilons: list[Line]) -> dict[str, Any]:
    able = [row for row in rows if row["applies"] and reachable(row, threat)]
    worst = max(able, key=_lower, default=None)
    proofs = [one for one in epsilons if reachable(one, threat)]
    shown = ("threat", "model", "attack", "slice", "auroc", "low", "high")
    return {
        "id": threat.id,
        "adversary": threat.adversary,
        "sees": threat.sees,
        "tested": bool(able),
        "worst": {**{key: worst[key] for key in shown}, "tpr": worst["tpr"]["0.01"]} if worst else None,
        "epsilon": max(proofs, key=lambda one: one["low"], default=None),
        "not_tested": list(UNTESTED[threat.id]),
        "sentence": _reading(threat, worst),
    }


def reachable(line: Line, threat: Threat) -> bool:
    """Whether the adversary sees what this line's attack needs."""
    return line["threat"] in NEEDS and NEEDS[line["threat"]] <= threat.has


def _lower(row: Line) -> float:
    return row["adjusted"][0] if row["adjusted"] else row["low"]


def _reading(threat: Threat, worst: Line | None) -> str:
    if worst is None:
        return "No attack of this adversary gave a figure."
    if few := _too_few(worst):
        return few
    attack = f"{worst['attack']} ({worst['slice']}) on {SUBJECTS[worst['model']]}"
    low, high = worst["adjusted"] or (worst["low"], worst["high"])
    figure = f"AUROC {worst['auroc']:.3f} [{low:.3f}, {high:.3f}] at {worst['level']:.0%}, corrected for the number of attacks"
    if worst["confounded"]:
        return f"Confounded: the sides differ without any model. {attack}: {figure}."
    if low > 0.5:
        return f"Membership leaks. Worst attack: {attack}, {figure}."
    return f"No attack tried shows a leak. The nearest to one: {attack}, {figure}."


def sentences(report: Line) -> list[str]:
    """One sentence per attacked model (its fixed headline attack, under P1), then the limits."""
    rows = report["protocols"]["P1"]["rows"]
    said = [_sentence(row) for model in SUBJECTS if (row := _headline(rows, model))]
    limits = (
        "Measured by attacks, so a floor: a better attack may find more. Not tested: " + "; ".join(NOT_TESTED) + "."
    )
    return [*said, limits]


def _headline(rows: Iterable[Line], model: str) -> Line | None:
    own = [row for row in rows if row["model"] == model]
    return next((row for row in own if row["headline"]), own[0] if own else None)


def _sentence(row: Line) -> str:
    who = SUBJECTS[row["model"]]
    if not row["applies"]:
        return f"{who}: not attacked, {row['reason']}."
    if few := _too_few(row):
        return f"From {who}, {few[0].lower()}{few[1:]}"
    figure = f"{row['attack']} ({row['slice']}) AUROC {row['auroc']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
    base = row.get("over_base")
    over = f"; over the base model {base['value']:+.3f} [{base['low']:+.3f}, {base['high']:+.3f}]" if base else ""
    if row["confounded"]:
        return (
            f"From {who}, {figure}, but the two sides differ without any model: not evidence of membership by itself."
        )
    if row["low"] > 0.5:
        return f"From {who}, membership leaks: {figure}{over}; 0.5 would be a coin."
    if row["high"] < 0.5:
        return f"From {who}, {figure}: below a coin, so the score is reversed or the halves differ; not a clean result."
    least = row["detectable"]
    shown = f"; a leak of {least:.3f} would have shown in 8 of 10 such audits" if least > row["auroc"] else ""
    return f"From {who}, no leak found above AUROC {row['high']:.3f} at {row['level']:.0%}: {figure}{over}{shown}."


def _too_few(row: Line) -> str:
    """Why a row says nothing, where it has too few examples; else empty."""
    members, others = row["n_members"], row["n_nonmembers"]
    return f"{members} members and {others} others are too few to say anything." if min(members, others) < FEW else ""
