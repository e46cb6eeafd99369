"""What an audit's figures say, in plain words, whichever way they fall; "private" is never a result."""

from collections.abc import Iterable, Mapping
from typing import Any

NOT_TESTED = (
    "adversaries other than a curious server (T3): eavesdroppers, fellow clients, a server that alters what it sends",
    "attacks over several uploads of one client, shadow models (LiRA, RMIA), and the span of an update",
    "single senders whose half the average repeats bit for bit",
    "extraction or reconstruction of examples: membership alone is measured",
    "canaries, and any formal guarantee: FedRand gives none",
)
SUBJECTS = {
    "server": "the server's model",
    "client": "the clients' models as the server can rebuild them",
    "oracle": "the clients' true models, which the server does not have",
    "update": "the clients' last uploads",
}


def sentences(report: Mapping[str, Any]) -> list[str]:
    """One sentence per attacked model (its fixed headline attack, under P1), then the limits."""
    rows = report["protocols"]["P1"]["rows"]
    said = [_sentence(row) for model in SUBJECTS if (row := _headline(rows, model))]
    return [
        *said,
        "Measured by attacks, so a floor: a better attack may find more. Not tested yet: "
        + "; ".join(NOT_TESTED)
        + ".",
    ]


def _headline(rows: Iterable[Mapping[str, Any]], model: str) -> Mapping[str, Any] | None:
    own = [row for row in rows if row["model"] == model]
    return next((row for row in own if row.get("headline")), own[0] if own else None)


def _sentence(row: Mapping[str, Any]) -> str:
    who = SUBJECTS[row["model"]]
    if not row["applies"]:
        return f"{who}: not attacked, {row['reason']}."
    figure = f"{row['attack']} AUROC {row['auroc']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
    if row["low"] > 0.5:
        return f"From {who}, membership leaks: {figure}; 0.5 would be a coin."
    if row["high"] < 0.5:
        return f"From {who}, {figure}: below a coin, so the score is reversed or the halves differ; not a clean result."
    return f"From {who}, no leak shown by this attack: {figure}; a leak up to {row['high']:.3f} is not ruled out."
