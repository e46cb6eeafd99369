"""One row of an audit as a record: what was attacked, how well it went, and what the figure may be read as."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fedrand.report.amounts import MISSING, interval, pick, probability, real


class Bounds(NamedTuple):
    """A value with its interval."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def text(self) -> str:
        return interval(*self)


class Rate(NamedTuple):
    """The share of members found at a fixed false positive rate, 0 to 1, or why no such figure is given."""

    bounds: Bounds
    refused: str

    @property
    def text(self) -> str:
        return f"refused: {self.refused}" if self.refused else self.bounds.text


class Given(NamedTuple):
    """DeLong's interval and p value: these very models are given, only the items vary."""

    low: float
    high: float
    p: float

    @property
    def text(self) -> str:
        return f"[{self.low:.3f}, {self.high:.3f}], p {probability(self.p)}"


@dataclass(frozen=True)
class Finding:
    """One attack on one model: AUROC (0.5 is a coin), its interval, the base model's AUROC on the same items.

    adjusted: the interval that holds for all attacks of the audit together (max-T). over_base, over_blind: paired
    differences of AUROC to the untrained model and to a classifier that saw no model. detectable: the smallest AUROC
    that so many items would have shown. fixed: the same AUROC were the models given.
    """

    threat: str
    model: str
    attack: str
    slice: str
    auroc: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    base: float | None = None
    members: int | None = None
    others: int | None = None
    reason: str = ""
    headline: bool = False
    per_client: Mapping[str, object] = field(default_factory=dict)
    adjusted: tuple[float, float] | None = None
    rates: Mapping[str, Rate] | None = None
    over_base: Bounds | None = None
    over_blind: Bounds | None = None
    confounded: bool = False
    detectable: float | None = None
    fixed: Given | None = None

    @property
    def name(self) -> str:
        return f"{self.attack}, {self.slice}" if self.slice else self.attack

    @property
    def leaks(self) -> bool:
        """The interval, over all attacks where that is known, lies above a coin and above what no training shows.

        A confounded row counts only by what it adds to the blind classifier.
        """
        if self.confounded:
            return self.over_blind is not None and (self.over_blind.low or 0.0) > 0
        low = self.adjusted[0] if self.adjusted else self.low
        return low is not None and low > 0.5 and self._above_base(low)

    def _above_base(self, low: float) -> bool:
        if self.over_base is not None:
            return (self.over_base.low or 0.0) > 0
        return low > (self.base or 0.0)

    @property
    def text(self) -> str:
        return interval(self.auroc, self.low, self.high)

    def rate(self, at: str = "0.01") -> str:
        """The share of members found at a false positive rate, as text."""
        found = (self.rates or {}).get(at)
        return MISSING if found is None else found.text

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the row in its protocol."""
        return self.threat, self.model, self.attack, self.slice


def findings(audit: Mapping[str, object], protocol: str) -> list[Finding]:
    """The rows of "P1" or another protocol, in the order of the file."""
    rows = pick(audit, "protocols", protocol, "rows")
    return [_finding(row) for row in rows] if isinstance(rows, list) else []


def _finding(row: Mapping[str, object]) -> Finding:
    threat, model, attack, part = (str(row.get(name) or "") for name in ("threat", "model", "attack", "slice"))
    applies = row.get("applies", True) is not False
    auroc, low, high = (real(row.get(name)) if applies else None for name in ("auroc", "low", "high"))
    rates = row.get("tpr")
    clients = row.get("per_client")
    return Finding(
        threat=threat,
        model=model,
        attack=attack,
        slice=part,
        auroc=auroc,
        low=low,
        high=high,
        level=real(row.get("level")) or 0.95,
        base=real(row.get("base_auroc")),
        members=_whole(row.get("n_members")),
        others=_whole(row.get("n_nonmembers")),
        reason="" if auroc is not None else str(row.get("reason") or "no figure"),
        headline=row.get("headline") is True,
        per_client=clients if applies and isinstance(clients, Mapping) else {},
        adjusted=pair(row.get("adjusted")) if applies else None,
        rates={at: rate(entry) for at, entry in rates.items()} if applies and isinstance(rates, Mapping) else None,
        over_base=bounds(row.get("over_base")),
        over_blind=bounds(row.get("over_blind")),
        confounded=row.get("confounded") is True,
        detectable=real(row.get("detectable")),
        fixed=given(row.get("fixed")) if applies else None,
    )


def bounds(entry: object, value: str = "value") -> Bounds | None:
    """{"value", "low", "high"} as a record; None where there is no value."""
    known = real(pick(entry, value))
    return None if known is None else Bounds(known, real(pick(entry, "low")), real(pick(entry, "high")))


def given(entry: object) -> Given | None:
    """{"low", "high", "p"} as a record; None where one is missing."""
    known = [real(pick(entry, name)) for name in Given._fields]
    return None if None in known else Given(*known)  # type: ignore[arg-type]


def rate(entry: object) -> Rate:
    """A rate of audit.json, which may be a refusal or missing."""
    refused = pick(entry, "refused")
    return Rate(bounds(entry) or Bounds(None, None, None), "" if refused is None else str(refused))


def pair(value: object) -> tuple[float, float] | None:
    """[low, high] as two numbers; None where one is missing."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    low, high = map(real, value)
    return None if low is None or high is None else (low, high)


def _whole(value: object) -> int | None:
    known = real(value)
    return None if known is None else int(known)
