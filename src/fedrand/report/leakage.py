"""What an audit found, in sentences that claim no more than was measured."""

from collections.abc import Iterable

from fedrand.report.amounts import number
from fedrand.report.finding import Finding

HEADLINES = ("reference", "loss")  # the attack shown first is fixed here, never the best of many
SUBJECTS = {
    "server": "the server's model",
    "client": "a client's model as the server can rebuild it",
    "oracle": "the clients' true models (calibration)",
    "base": "the base model (a control: it was trained on neither side)",
    "blind": "classifiers that never saw a model (a control)",
    "update": "the uploads themselves",
}
SHORT = {"server": "server's model", "client": "client rebuilt", "oracle": "true models", "update": "uploads"}
CONTROLS = ("base", "blind")


def subject(model: str) -> str:
    """A model's name at the start of a line."""
    words = SUBJECTS.get(model, model)
    return words[:1].upper() + words[1:]


def groups(rows: Iterable[Finding]) -> dict[tuple[str, str], list[Finding]]:
    """Rows by (threat, model)."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for row in rows:
        found.setdefault((row.threat, row.model), []).append(row)
    return found


def headline(rows: Iterable[Finding], model: str) -> Finding | None:
    """The one row that stands for a model: the audit's own choice, else the first of HEADLINES, else the first row."""
    able = [row for row in rows if row.model == model and row.auroc is not None]
    chosen = [row for row in able if row.headline]
    named = [row for attack in HEADLINES for row in able if row.attack == attack]
    return next(iter([*chosen, *named, *able]), None)


def verdict(rows: list[Finding]) -> str:
    """One threat and model in words: how many intervals lie above a coin, and what is not ruled out."""
    tried = [row for row in rows if row.auroc is not None]
    if not tried:
        return f"No attack gave a figure: {rows[0].reason}."
    if tried[0].model in CONTROLS:
        return _control(tried)
    level = f"{tried[0].level:.0%}"
    above = [row for row in tried if row.leaks]
    if not above:
        highs = [row.high for row in tried]
        ceiling = "of any size" if None in highs else f"up to AUROC {number(max(filter(None, highs)))}"
        return (
            f"None of {len(tried)} intervals ({level}) lies above 0.5 and the base model's own value: nothing is resolved by "
            f"these attacks. A leak {ceiling} is not ruled out." + _confounded(tried)
        )
    top = max(above, key=lambda row: row.low or 0.0)
    chance = "" if top.adjusted else f"; by chance {_by_chance(tried)} would"
    return (
        f"{len(above)} of {len(tried)} intervals ({level}{_corrected(top)}) {'lies' if len(above) == 1 else 'lie'} above "
        f"0.5 and the base model's own value{chance}. Membership leaks: {top.name} tells members from "
        f"held-out items with AUROC {top.text}{_picked(top, len(tried))}." + _confounded(tried)
    )


def _corrected(row: Finding) -> str:
    return ", for all attacks together" if row.adjusted else ""


def _picked(top: Finding, tried: int) -> str:
    picked = f"picked as the clearest of {tried}" if tried > 1 else "the only one"
    if top.adjusted is None:
        return f" ({picked}, not corrected for that)" if tried > 1 else ""
    low, high = top.adjusted
    return f" ({picked}; corrected for all attacks: [{number(low)}, {number(high)}])"


def _confounded(rows: list[Finding]) -> str:
    off = sum(row.confounded for row in rows)
    return f" Confounded: {off}; a classifier that saw no model tells the two sides apart as well." if off else ""


def _control(rows: list[Finding]) -> str:
    off = [row.name for row in rows if row.low is None or row.high is None or not row.low <= 0.5 <= row.high]
    words = f"{len(rows) - len(off)} of {len(rows)} intervals of this control cover 0.5; {rows[0].level:.0%} should."
    warning = f" Not those of {'; '.join(off)}: there, members and others differ by more than membership."
    return words + warning if off else words


def _by_chance(rows: list[Finding]) -> str:
    return f"about {len(rows) * (1 - rows[0].level) / 2:.2g}"
