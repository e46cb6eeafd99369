"""What an adversary who tolerates few false alarms finds: TPR at a low FPR (Carlini et al., 2022), and the ROC curve.

The interval is Korn and Graubard's (1998) for proportions in clusters: Clopper and Pearson's with the number of
independent members that the replicates' variance is worth. It holds at rates of 0 and 1 too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from fedrand.audit.statistics.replicates import Side, by_clusters, by_units, observed, sides
from fedrand.audit.statistics.sample import Sample, Values, usable
from fedrand.audit.statistics.two_level import quantile

EXPECTED = 10
"""False positives that a threshold needs: with fewer the rate is one of the threshold's luck."""


class Rate(NamedTuple):
    """A true-positive rate with its confidence interval."""

    value: float
    low: float
    high: float


class Refused(NamedTuple):
    """Why there is no figure."""

    refused: str


class Roc(NamedTuple):
    """True-positive rates over false-positive rates with a pointwise band, [points] each."""

    fpr: Values
    tpr: Values
    low: Values
    high: Values


def tpr(
    samples: Sequence[Sample], fpr: float, rng: np.random.Generator, resamples: int = 1000, level: float = 0.95
) -> Rate | Refused:
    """The share of members above the threshold that at most a share `fpr` of the non-members exceed; units share one
    threshold. Refused where fewer than 10 false positives are expected (the words: non-members there are, of those it
    takes); ValueError when no unit has both sides."""
    used = usable(samples)
    count = sum(len(sample.others) for sample in used)
    if count * fpr < EXPECTED:
        needed = int(np.ceil(EXPECTED / fpr))
        return Refused(f"{count} non-members, it takes {needed}")
    _, values, low, high = _curve(used, np.array([fpr]), rng, resamples, level)
    return Rate(float(values[0]), float(low[0]), float(high[0]))


def roc(
    samples: Sequence[Sample], rng: np.random.Generator, resamples: int = 1000, level: float = 0.95, points: int = 60
) -> Roc:
    """The ROC curve at about `points` rates, evenly spaced on a log scale from one false positive to all but one."""
    used = usable(samples)
    count = sum(len(sample.others) for sample in used)
    false = np.unique(np.geomspace(1, max(count - 1, 1), points).round())
    return _curve(used, false / count, rng, resamples, level)


def _curve(samples: Sequence[Sample], fprs: Values, rng: np.random.Generator, resamples: int, level: float) -> Roc:
    members, others = sides(samples)
    values, tail = observed(members, others, fprs), (1 - level) / 2
    drawn = _drawn(members, others, fprs, rng, resamples, len(samples))
    ratio = quantile(np.inf, 1 - tail) / quantile(drawn.freedom, 1 - tail)
    low, high = _clopper_pearson(values, ratio**2 * _independent(values, drawn.variance, members), level)
    least, most = np.quantile(
        drawn.rates, (tail, 1 - tail), axis=0
    )  # where a rate is 0 or 1, the threshold may still move
    return Roc(fprs, values, np.minimum(low, least), np.maximum(high, most))


class _Drawn(NamedTuple):
    rates: Values  # [replicates, fprs]
    variance: Values  # [fprs]
    freedom: float


def _drawn(members: Side, others: Side, fprs: Values, rng: np.random.Generator, resamples: int, units: int) -> _Drawn:
    """Replicates with clusters drawn anew within units, or units where these vary more."""
    within = by_clusters(members, others, fprs, rng, resamples)
    if units == 1:
        return _Drawn(within, within.var(0), np.inf)
    between = by_units(members, others, fprs, rng, resamples, units)
    apart = between.var(0) * units / (units - 1)
    if apart.mean() <= within.var(0).mean():
        return _Drawn(within, within.var(0), np.inf)
    return _Drawn(between, np.maximum(apart, within.var(0)), units - 1.0)


def _independent(values: Values, variance: Values, members: Side) -> Values:
    """How many independent members would give this variance; never more than there are clusters of members."""
    most = float(len(members.cluster_units))
    worth = values * (1 - values) / np.where(variance > 0, variance, np.inf)
    return np.where(worth > 0, np.minimum(worth, most), most)


def _clopper_pearson(values: Values, counts: Values, level: float) -> tuple[Values, Values]:
    tail = (1 - level) / 2
    hits, misses = values * counts, (1 - values) * counts
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), misses + 1, tail), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, np.maximum(misses, 1e-9), 1 - tail), 1.0)
    return low, high
