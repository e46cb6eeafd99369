"""Runs side by side: columns that know their figures, a row of raw values per run."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fedrand.report.amounts import SCALE_NOTE, interval, number, pick, plain, real, score, score_spread
from fedrand.report.finding import Finding
from fedrand.report.load import Json
from fedrand.report.threat import SUREST, Threat

SUBJECTS = ("server", "client", "update")
NOTE = (
    "Server: the final server model. Clients: unweighted mean and standard deviation over the clients that took part, "
    "each with its own last adapter and on a fixed sample of the images, so captions of clients and server do not compare. "
    "AUROC: protocol P1, attacks fixed beforehand, 0.5 is a coin. "
    f"Worst: {SUREST}. Corrected: the interval holds for all attacks together, else for this one alone."
)


@dataclass(frozen=True)
class Column:
    """A heading, the names of its raw values (one, mean and std, or AUROC with its interval) and how they are shown."""

    heading: str
    names: tuple[str, ...]
    show: Callable[..., str]

    def text(self, values: Mapping[str, object]) -> str:
        return self.show(*(values.get(name) for name in self.names))


@dataclass(frozen=True)
class Comparison:
    """columns: what is compared; rows: raw values by name, one mapping per run.

    warnings: what makes the runs unlike; unpaired: why a paired difference is not given; words: what its terms mean;
    level: of the paired differences' intervals, None where there are none.
    """

    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    unpaired: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    level: float | None = None

    @property
    def note(self) -> str:
        """What the figures are."""
        paired = (
            ""
            if self.level is None
            else (
                " Paired: the difference on the same items, each attack by itself and not corrected for their number; resolved "
                f"where its {100 * self.level:g}% interval over clients and items leaves 0 out. Models given: these very models, "
                "over items alone (DeLong)."
            )
        )
        return f"{NOTE}{paired} {SCALE_NOTE}"

    @property
    def names(self) -> list[str]:
        """Every raw value's name, in the order of the columns."""
        return [name for column in self.columns for name in column.names]

    @property
    def headings(self) -> list[str]:
        return [column.heading for column in self.columns]

    def texts(self) -> list[list[str]]:
        """The table as shown, a row per run."""
        return [[column.text(row) for column in self.columns] for row in self.rows]

    def turned(self) -> list[list[str]]:
        """The same with a line per figure: its heading, then each run's."""
        return [list(line) for line in zip(self.headings, *self.texts(), strict=True)]


WHO = tuple(Column(name, (name,), plain) for name in ("run", "method", "seed"))
SERVER = tuple(
    Column(f"{label} server {split}", (f"server_{split}_{metric}",), partial(score, metric))
    for metric, label in (("nll", "NLL"), ("cider_d", "CIDEr-D"))
    for split in ("test", "ood")
)
CLIENTS = tuple(
    Column(
        f"{label} clients test",
        (f"clients_test_{metric}_mean", f"clients_test_{metric}_std"),
        partial(score_spread, metric),
    )
    for metric, label in (("nll", "NLL"), ("cider_d", "CIDEr-D"))
)
BYTES = tuple(
    Column(f"{way} / FedAvg", (f"ratio_{way}",), lambda value: number(value, 2)) for way in ("upload", "total")
)


def leak_column(finding: Finding) -> Column:
    """AUROC of one attack on one model under P1."""
    heading = f"AUROC {finding.model} {finding.threat}: {finding.name}"
    return Column(heading, leak_names(finding), interval)


def leak_names(finding: Finding) -> tuple[str, str, str]:
    """Names of the AUROC and its bounds, words and underscores only."""
    words = (finding.threat.replace("+", "plus"), finding.model, finding.attack, finding.slice)
    stem = re.sub(r"\W+", "_", "_".join(word for word in words if word)).strip("_")
    return f"auroc_{stem}", f"auroc_{stem}_low", f"auroc_{stem}_high"


def worst_columns(threat: str) -> tuple[Column, Column]:
    """The attack that went best for one adversary, and the share of members it finds at 1% false positives."""
    stem = _worst_stem(threat)
    auroc = (f"{stem}_auroc", f"{stem}_auroc_low", f"{stem}_auroc_high", f"{stem}_corrected", f"{stem}_attack")
    rate = (f"{stem}_tpr", f"{stem}_tpr_low", f"{stem}_tpr_high", f"{stem}_tpr_refused")
    return (
        Column(f"Worst AUROC {threat}", auroc, _with_words),
        Column(
            f"TPR at 1% FPR {threat}", rate, lambda *shown: f"refused: {shown[3]}" if shown[3] else interval(*shown[:3])
        ),
    )


def _with_words(auroc: object, low: object, high: object, corrected: object, attack: object) -> str:
    if auroc is None:
        return interval(auroc, low, high)
    return f"{interval(auroc, low, high)} {'corrected' if corrected else 'uncorrected'}: {attack}"


def worst_values(threat: Threat) -> dict[str, object]:
    """The raw values under `worst_columns`; nothing when no attack gave a figure."""
    if (worst := threat.worst) is None:
        return {}
    auroc, rate = (column.names for column in worst_columns(threat.id))
    known = (*worst.rate.bounds, worst.rate.refused or None)
    return dict(zip(auroc, (worst.auroc, *worst.held, worst.adjusted is not None, worst.name), strict=True)) | dict(
        zip(rate, known, strict=True)
    )


def _worst_stem(threat: str) -> str:
    return "worst_" + re.sub(r"\W+", "_", threat.replace("+", "plus")).strip("_")


def values(run: str, results: Json, leaks: Sequence[Finding]) -> dict[str, object]:
    """The raw values of one run; None where a figure is missing."""
    found: dict[str, object] = {"run": run, "method": results.get("method"), "seed": results.get("seed")}
    for metric in ("nll", "cider_d"):
        for split in ("test", "ood"):
            found[f"server_{split}_{metric}"] = real(pick(results, "server", split, metric))
        for part in ("mean", "std"):
            found[f"clients_test_{metric}_{part}"] = real(pick(results, "clients", part, "test", metric))
    found |= {f"ratio_{way}": real(pick(results, "bytes", f"ratio_{way}")) for way in ("upload", "total")}
    for leak in leaks:
        found |= dict(zip(leak_names(leak), (leak.auroc, leak.low, leak.high), strict=True))
    return found
