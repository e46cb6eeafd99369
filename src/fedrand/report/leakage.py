"""What an audit found, as rows and as sentences that claim no more than was measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fedrand.report.amounts import interval, number, pick, real

HEADLINES = ("reference", "loss")  # the attack shown first is fixed here, never the best of many
SUBJECTS = {
    "server": "the server's model",
    "client": "a client's model as the server can rebuild it",
    "oracle": "the clients' true models (calibration)",
    "base": "the base model (a control: it was trained on neither side)",
    "blind": "classifiers that never saw a model (a control)",
    "update": "the uploads themselves",
}
CONTROLS = ("base", "blind")


@dataclass(frozen=True)
class Finding:
    """One attack on one model: AUROC (0.5 is a coin), its interval, the base model's AUROC on the same items."""

    threat: str
    model: str
    attack: str
    slice: str
    auroc: float | None
    low: float | None
    high: float | None
    level: float
    base: float | None
    members: int | None
    others: int | None
    reason: str
    headline: bool
    per_client: Mapping[str, object]

    @property
    def name(self) -> str:
        return f"{self.attack}, {self.slice}" if self.slice else self.attack

    @property
    def leaks(self) -> bool:
        """The interval lies wholly above both a coin and what the base model shows without any training."""
        return self.low is not None and self.low > max(0.5, self.base or 0.0)

    @property
    def text(self) -> str:
        return interval(self.auroc, self.low, self.high)


def findings(audit: Mapping[str, object], protocol: str) -> list[Finding]:
    """The rows of "P1" or "P0", in the order of the file."""
    rows = pick(audit, "protocols", protocol, "rows")
    return [_finding(row) for row in rows] if isinstance(rows, list) else []


def _finding(row: Mapping[str, object]) -> Finding:
    threat, model, attack, part = (str(row.get(name) or "") for name in ("threat", "model", "attack", "slice"))
    applies = row.get("applies", True) is not False
    auroc, low, high = (real(row.get(name)) if applies else None for name in ("auroc", "low", "high"))
    reason = "" if auroc is not None else str(row.get("reason") or "no figure")
    return Finding(
        threat,
        model,
        attack,
        part,
        auroc,
        low,
        high,
        real(row.get("level")) or 0.95,
        real(row.get("base_auroc")),
        _whole(row.get("n_members")),
        _whole(row.get("n_nonmembers")),
        reason,
        row.get("headline") is True,
        clients if applies and isinstance(clients := row.get("per_client"), Mapping) else {},
    )


def _whole(value: object) -> int | None:
    known = real(value)
    return None if known is None else int(known)


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
            f"None of {len(tried)} intervals ({level}) lies above 0.5 and the base model's own value: no leak found by "
            f"these attacks. A leak {ceiling} is not ruled out."
        )
    top = max(above, key=lambda row: row.low or 0.0)
    return (
        f"{len(above)} of {len(tried)} intervals ({level}) {'lies' if len(above) == 1 else 'lie'} above 0.5 and the "
        f"base model's own value; by chance {_by_chance(tried)} would. Membership leaks: {top.name} tells members from "
        f"held-out items with AUROC {top.text} (picked as the clearest of {len(tried)}, not corrected for that)."
    )


def _control(rows: list[Finding]) -> str:
    off = [row.name for row in rows if row.low is None or row.high is None or not row.low <= 0.5 <= row.high]
    words = f"{len(rows) - len(off)} of {len(rows)} intervals of this control cover 0.5; {rows[0].level:.0%} should."
    warning = f" Not those of {'; '.join(off)}: there, members and others differ by more than membership."
    return words + warning if off else words


def _by_chance(rows: list[Finding]) -> str:
    return f"about {len(rows) * (1 - rows[0].level) / 2:.2g}"
