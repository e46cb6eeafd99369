"""Two runs on the same items: how much more one leaks, client by client, and why that sometimes cannot be said."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

from fedrand.report.amounts import flat, pick, plain, real
from fedrand.report.differences import Read
from fedrand.report.finding import Bounds, Finding

FEWEST = 4  # clients; the expansion of Student's quantile is too coarse below three degrees of freedom
LEVEL = 0.95


def paired(first: Read, other: Read, model: str) -> Bounds | str:
    """Mean over clients of (other's AUROC - first's) with a 95% t interval over clients, or the reason for none.

    audit.json holds a figure per row and client, not per item: the pairing is by client.
    """
    ours, theirs = first.leaks.get(model), other.leaks.get(model)
    if ours is None or theirs is None:
        return "one of the two has no figure"
    if reason := _unlike(first, other) or _other_items(ours, theirs):
        return reason
    differences = [
        after - before
        for name in ours.per_client
        if (before := real(ours.per_client[name])) is not None and (after := real(theirs.per_client[name])) is not None
    ]
    if len(differences) < FEWEST:
        return f"{len(differences)} clients have a figure in both, {FEWEST} are needed"
    mean, half = fmean(differences), student(len(differences) - 1) * stdev(differences) / math.sqrt(len(differences))
    return Bounds(mean, mean - half, mean + half)


def student(freedom: int, level: float = LEVEL) -> float:
    """The two-sided quantile of Student's t, 3 degrees of freedom or more, to 1% (Cornish-Fisher expansion)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def _unlike(first: Read, other: Read) -> str:
    """What shows that the two audits drew their items differently; empty when nothing does."""
    known = [
        ("seed", first.results.get("seed"), other.results.get("seed")),
        ("data", pick(first.environment, "data", "fingerprint"), pick(other.environment, "data", "fingerprint")),
        *((f"data.{key}", *both) for key, both in _settings(first, other).items()),
    ]
    return next((f"{name}: {plain(a)} and {plain(b)}" for name, a, b in known if a != b or a is None), "")


def _settings(first: Read, other: Read) -> dict[str, tuple[object, object]]:
    ours, theirs = (flat(run.recipe.get("data") or {}) for run in (first, other))
    return {key: (ours.get(key, ""), theirs.get(key, "")) for key in {**ours, **theirs}}


def _other_items(ours: Finding, theirs: Finding) -> str:
    if ours.key != theirs.key:
        return f"another attack, {ours.name} and {theirs.name}"
    if (ours.members, ours.others) != (theirs.members, theirs.others):
        return "another number of items"
    return "other clients" if set(ours.per_client) != set(theirs.per_client) else ""


def pairs(runs: Sequence[Read], models: Sequence[str]) -> tuple[dict[tuple[str, str], Bounds], list[str]]:
    """Every run against the first: ({(run, model): difference}, a line for each that cannot be given)."""
    found: dict[tuple[str, str], Bounds] = {}
    reasons: list[str] = []
    for other in runs[1:]:
        for model in models:
            if model not in runs[0].leaks and model not in other.leaks:
                continue
            result = paired(runs[0], other, model)
            if isinstance(result, Bounds):
                found[other.name, model] = result
            else:
                reasons.append(f"no paired difference of {other.name} to {runs[0].name}, {model}: {result}")
    return found, reasons
