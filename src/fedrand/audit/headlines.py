"""One sentence per attacked model, by its headline attack under P1, which is fixed beforehand; then the limits."""

from collections.abc import Iterable

from fedrand.audit.statistics import MARGIN
from fedrand.audit.wording import NOT_TESTED, SUBJECTS, Line, over_blind, too_few, tost


def sentences(report: Line) -> list[str]:
    """The part "verdict" of audit.json."""
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
    if few := too_few(row):
        return f"From {who}, {few[0].lower()}{few[1:]}"
    if row["confounded"]:
        return f"The sides differ without any model: {over_blind(row)}."
    figure, over = _figure(row), _over_base(row)
    if row["low"] > 0.5 and _above_base(row):
        return f"From {who}, membership leaks: {figure}{over}; 0.5 would be a coin."
    level, least, margin = f"{row['level']:.0%}", f"minimum detectable {row['detectable']:.3f}", f"{MARGIN:g}"
    if row["equivalence"]["equivalent"]:
        return (
            f"From {who}, by the attack fixed beforehand, no leak found above AUROC {row['high']:.3f} at {level}, {least}: "
            f"{figure}{over}; equivalent to a coin within {margin} (TOST at {level}: {tost(row)})."
        )
    if row["high"] < 0.5:
        return f"From {who}, {figure}: below a coin, so the score is reversed or the halves differ; not a clean result."
    return (
        f"From {who}, not resolved: {figure}{over}; not shown equivalent to a coin within {margin} (TOST at {level}: "
        f"{tost(row)}). An AUROC up to {row['high']:.3f} is not ruled out at {level}, {least}."
    )


def _figure(row: Line) -> str:
    given = row["fixed"]
    return (
        f"{row['attack']} ({row['slice']}) AUROC {row['auroc']:.3f} [{row['low']:.3f}, {row['high']:.3f}], of these very "
        f"models [{given['low']:.3f}, {given['high']:.3f}], p = {given['p']:.2g} (DeLong)"
    )


def _over_base(row: Line) -> str:
    base = row["over_base"]
    return f"; over the base model {base['value']:+.3f} [{base['low']:+.3f}, {base['high']:+.3f}]" if base else ""


def _above_base(row: Line) -> bool:
    return row["over_base"] is None or row["over_base"]["low"] > 0
