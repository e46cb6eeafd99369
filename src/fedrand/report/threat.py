"""The verdict on each threat model, as the audit wrote it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fedrand.report.amounts import interval, number, pick, plain, real
from fedrand.report.finding import Finding, Rate, findings, pair, rate

CALIBRATION = ("Tinf",)  # an oracle, which no adversary is
SUREST = (
    "of all attacks of an adversary the surest: one that shows a leak before one that does not, then the one whose interval "
    "has the highest lower end; one that is less sure may have a higher AUROC"
)
"""What makes an attack the worst (`audit.verdict`)."""


@dataclass(frozen=True)
class Worst:
    """The attack that went best for the adversary; `row` is its line of P1, where there is one; `adjusted` the interval
    that holds for all attacks together, as this one was picked from many."""

    model: str
    attack: str
    slice: str
    auroc: float
    low: float | None
    high: float | None
    rate: Rate
    row: Finding | None
    adjusted: tuple[float, float] | None = None

    @property
    def held(self) -> tuple[float | None, float | None]:
        """The corrected interval, or the attack's own in an audit that corrected nothing."""
        return self.adjusted or (self.low, self.high)

    @property
    def label(self) -> str:
        """Which of the two `held` is."""
        return "corrected" if self.adjusted else "uncorrected"

    @property
    def corrected(self) -> str:
        """The AUROC with the interval `held`, and its label."""
        return f"{interval(self.auroc, *self.held)} {self.label}"

    @property
    def name(self) -> str:
        return f"{self.attack}, {self.slice}" if self.slice else self.attack

    @property
    def text(self) -> str:
        return interval(self.auroc, self.low, self.high)

    @property
    def as_row(self) -> Finding:
        """Its row as it is drawn: the verdict's own figures, whatever else the row knows."""
        where = self.row or Finding("", self.model, self.attack, self.slice, level=0.95)
        return replace(where, auroc=self.auroc, low=self.low, high=self.high)

    @property
    def leaks(self) -> bool:
        return self.row.leaks if self.row else (self.low or 0.0) > 0.5


@dataclass(frozen=True)
class Together:
    """All attacks of one adversary: how many are shown within `margin` of a coin (TOST at `level`, low and high over all of
    them), the AUROC that none is above, and the least that would have shown."""

    margin: float
    level: float
    attacks: int
    equivalent: int
    low: float
    high: float
    above: float
    detectable: float

    @property
    def text(self) -> str:
        shown = "shown" if self.equivalent == self.attacks else "not shown"
        return (
            f"{shown}: {self.equivalent} of {self.attacks} attacks within {self.margin:g} (TOST at {self.level:.0%}: "
            f"{number(self.low)} to {number(self.high)})"
        )


@dataclass(frozen=True)
class Threat:
    """One adversary. epsilon: the lower bound that guesses at canaries proved, with how it was got; said: the audit's own
    status, empty in an audit that has none."""

    id: str
    adversary: str
    sees: str
    tested: bool
    worst: Worst | None
    epsilon: str
    not_tested: tuple[str, ...]
    sentence: str
    said: str = ""
    together: Together | None = None

    @property
    def name(self) -> str:
        return f"{self.id}, {self.adversary}" if self.adversary else self.id

    @property
    def status(self) -> str:
        """What the attacks say, in two or three words; a missing proof is never a clean result, and "no leak" wants
        equivalence, which an earlier audit did not test."""
        if self.said:
            return self.said
        if self.worst is None:
            return "no figure" if self.tested else "not tested"
        if self.worst.leaks:
            return "leak found"
        if self.worst.row and self.worst.row.confounded:
            return "confounded"
        return "score reversed" if (self.worst.high or 1.0) < 0.5 else "not resolved"

    @property
    def leaks(self) -> bool:
        return self.status == "leak found"

    @property
    def reading(self) -> str:
        """One sentence: the audit's own, else one from the figures."""
        if self.sentence:
            return self.sentence
        if self.worst is None:
            return (
                "No attack gave a figure." if self.tested else "Nothing is known: no attack of this adversary was run."
            )
        ceiling = number(self.worst.high)
        end = "" if self.leaks else f"; a leak up to {ceiling} is not ruled out"
        return f"{self.status.capitalize()}: {self.worst.name}, AUROC {self.worst.text}{end}."


def threats(audit: Mapping[str, object]) -> list[Threat]:
    """In the order of the file; none for an audit of the first form."""
    entries = audit.get("threats")
    rows = {row.key: row for row in findings(audit, "P1")}
    return [_threat(entry, rows) for entry in entries] if isinstance(entries, list) else []


def _threat(entry: Mapping[str, object], rows: Mapping[tuple[str, str, str, str], Finding]) -> Threat:
    words = {name: str(entry.get(name) or "") for name in ("id", "adversary", "sees", "sentence")}
    missing = entry.get("not_tested")
    return Threat(
        id=words["id"],
        adversary=words["adversary"],
        sees=words["sees"],
        tested=entry.get("tested") is True,
        worst=_worst(words["id"], entry.get("worst"), rows),
        epsilon=_epsilon(entry.get("epsilon")),
        not_tested=tuple(map(plain, missing)) if isinstance(missing, list) else (),
        sentence=words["sentence"],
        said=str(entry.get("status") or ""),
        together=_together(entry.get("equivalence")),
    )


def _together(entry: object) -> Together | None:
    known = {name: real(pick(entry, name)) for name in Together.__dataclass_fields__}
    if None in known.values():
        return None
    counts = {name: int(known[name] or 0) for name in ("attacks", "equivalent")}
    return Together(**known | counts)  # type: ignore[arg-type]


def _worst(threat: str, entry: object, rows: Mapping[tuple[str, str, str, str], Finding]) -> Worst | None:
    auroc = real(pick(entry, "auroc"))
    if auroc is None:
        return None
    model, attack, part = (str(pick(entry, name) or "") for name in ("model", "attack", "slice"))
    weakest = str(pick(entry, "threat") or threat)  # an adversary that sees more has the attacks of one that sees less
    low, high = real(pick(entry, "low")), real(pick(entry, "high"))
    return Worst(
        model,
        attack,
        part,
        auroc,
        low,
        high,
        rate(pick(entry, "tpr")),
        rows.get((weakest, model, attack, part)),
        pair(pick(entry, "adjusted")),
    )


def _epsilon(entry: object) -> str:
    """ "0.702 at 95%: 75 of 100 guesses right"; empty when no canaries were put in."""
    low, level = real(pick(entry, "low")), real(pick(entry, "level"))
    if low is None:
        return ""
    sure = "" if level is None else f" at {level:.0%}"
    return f"{number(low)}{sure}: {plain(pick(entry, 'correct'))} of {plain(pick(entry, 'guesses'))} guesses right"


def strongest(found: list[Threat]) -> Threat | None:
    """The adversary with the highest AUROC; the oracle, which nobody is, does not count."""
    able = [threat for threat in found if threat.worst and threat.id not in CALIBRATION]
    return max(able, key=lambda threat: threat.worst.auroc if threat.worst else 0.0, default=None)
