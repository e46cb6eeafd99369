"""The pooled AUROC over units (clients), with an interval for a population of such units.

Two levels of chance: units differ, and each shows only some clusters of items. Random effects by moments with fixed
weights (DerSimonian and Kacker, 2007): the variance within units comes from their clusters (Obuchowski, 1997), and only
what units differ by beyond it counts as variance between them; the quantile is Student's with Satterthwaite's degrees
of freedom. (Resampling units and then their items would count the spread within units twice.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, expit, logit, ndtri, stdtr, stdtrit

from fedrand.audit.statistics.influence import Unit, disjoint_pairs, unit
from fedrand.audit.statistics.sample import Difference, Interval, Sample, Values, same_items, usable

NOTHING = 1e-20
"""A variance below this is rounding error."""

UNLIKELY = 0.05
"""Units as alike as only this share would be by chance are alike by luck."""


class Spread(NamedTuple):
    """How sure an estimate is: its variance, and the degrees of freedom that this variance was estimated with."""

    estimate: float
    variance: float
    freedom: float


def two_level_interval(samples: Sequence[Sample], level: float = 0.95) -> Interval:
    """`pooled` and its interval, on the logit scale; units without both sides are left out.

    With two or three units that truly differ it is wide: so few say little about others. Where nothing varies (every
    pair won, or all scores equal) it is what the number of independent pairs allows, as Clopper and Pearson would. A
    side of one cluster counts with the largest variance there can be. ValueError when no unit has both sides.
    """
    units = [unit(sample) for sample in usable(samples)]
    return auroc_interval(spread(units), disjoint_pairs(units), level)


def two_level_difference(first: Sequence[Sample], second: Sequence[Sample], level: float = 0.95) -> Difference:
    """`pooled(first) - pooled(second)`, two scores of the same items of the same units, with interval and p value.

    ValueError when the items differ.
    """
    same_items(first, second)
    units = [unit(a).minus(unit(b)) for a, b in zip(usable(first), usable(second), strict=True)]
    return difference(spread(units), disjoint_pairs(units), level)


def spread(units: Sequence[Unit]) -> Spread:
    """The pooled estimate and its variance over a population of units; one unit stands for itself alone."""
    weights = np.array([float(one.pairs) for one in units])
    weights /= weights.sum()
    estimates, within = np.array([(one.estimate, one.variance) for one in units]).T
    estimate = float(weights @ estimates)
    variance = float(weights**2 @ within)
    doubt = float(weights**4 @ [one.doubt for one in units])
    alone = Spread(estimate, variance, 2 * variance**2 / doubt if doubt > 0 else np.inf)
    return alone if len(units) == 1 else _with_units(alone, weights, estimates - estimate, within)


def _with_units(alone: Spread, weights: Values, off: Values, within: Values) -> Spread:
    """The variance within units, `alone`, changed by what units differ by beyond it; `off` the pooled estimate.

    Units may be more alike than their clusters explain. Cutting the variance between them off at 0 would let intervals
    of a dozen alike units cover 96.7% for 95%; so it may be negative, as far as chance explains and where Student's t
    still gains.
    """
    shared = float(weights @ weights)
    between = float(weights @ off**2 - weights * (1 - weights) @ within) / (1 - shared)
    each = within + max(0.0, between)
    form = (np.diag(weights) - np.outer(weights, weights)) * each
    doubt = 2 * float((form * form.T).sum()) * (shared / (1 - shared)) ** 2  # of shared * between, for normal estimates
    if between > 0:
        variance = alone.variance + shared * between
        return Spread(alone.estimate, variance, max(1.0, 2 * variance**2 / doubt))
    freedom = 2 * alone.variance**2 / doubt if doubt > 0 else np.inf
    if not 2 < freedom < np.inf:
        return alone
    least = float(chdtri(freedom, 1 - UNLIKELY)) / freedom * alone.variance
    shrunk = max(alone.variance + shared * between, least)
    worth = shrunk * freedom / (freedom - 2) < alone.variance  # the variance of Student's t
    return Spread(alone.estimate, shrunk, freedom) if worth else alone


def auroc_interval(found: Spread, pairs: int, level: float) -> Interval:
    """Student's on the logit scale, which keeps it inside [0, 1] and covers better near the ends (Pepe, 2003)."""
    centre = found.estimate
    if found.variance < NOTHING or not 0 < centre < 1:
        sure = unvaried(pairs, level)
        return Interval(centre, centre * sure, 1 - (1 - centre) * sure)
    reach = quantile(found.freedom, (1 + level) / 2) * np.sqrt(found.variance) / (centre * (1 - centre))
    return Interval(centre, float(expit(logit(centre) - reach)), float(expit(logit(centre) + reach)))


def difference(found: Spread, pairs: int, level: float) -> Difference:
    """Student's, cut to [-1, 1]; where nothing varies, what the number of independent pairs allows."""
    value = found.estimate
    if found.variance < NOTHING:
        sure = unvaried(pairs, level)
        p = min(1.0, 2.0 ** (1 - pairs)) if value else 1.0  # a sign test of pairs that all say the same
        return Difference(value, max(-1.0, value * sure - (1 - sure)), min(1.0, value * sure + 1 - sure), p)
    error = np.sqrt(found.variance)
    reach = quantile(found.freedom, (1 + level) / 2) * error
    p = 2 * float(stdtr(found.freedom, -abs(value) / error))
    return Difference(value, float(max(-1.0, value - reach)), float(min(1.0, value + reach)), p)


def unvaried(pairs: int, level: float) -> float:
    """The least share of pairs alike that could still show `pairs` of `pairs` alike (Clopper and Pearson, 1934)."""
    return ((1 - level) / 2) ** (1 / pairs)


def quantile(freedom: float, share: float) -> float:
    return float(ndtri(share)) if np.isinf(freedom) else float(stdtrit(freedom, share))
