"""DeLong, DeLong and Clarke-Pearson (1988), in the sorted form of Sun and Xu (2014): the models are given, items vary.

Units are strata: what they differ by is no chance here, as it is in `two_level`. Variants of one item are one cluster
(Obuchowski, 1997); where every item is its own and there is one unit, this is DeLong's own interval.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logit, ndtr

from fedrand.audit.statistics.influence import Unit, disjoint_pairs, unit
from fedrand.audit.statistics.sample import Difference, Sample, same_items, usable
from fedrand.audit.statistics.two_level import NOTHING, Spread, auroc_interval, difference

COIN = 0.5


class Fixed(NamedTuple):
    """The AUROC of these very models on items like these, its interval, and the two-sided p value against a coin."""

    auroc: float
    low: float
    high: float
    p: float


def delong(samples: Sequence[Sample], level: float = 0.95) -> Fixed:
    """`pooled` with a normal interval on the logit scale; where nothing varies (AUROC 0 or 1, all scores equal) what that
    many independent pairs allow; with a single item on a side, close to all of [0, 1]. ValueError when no unit has both
    sides.
    """
    units = [unit(sample) for sample in usable(samples)]
    found, pairs = _given(units), disjoint_pairs(units)
    return Fixed(*auroc_interval(found, pairs, level), _p(found, pairs))


def paired_delong(first: Sequence[Sample], second: Sequence[Sample], level: float = 0.95) -> Difference:
    """`pooled(first) - pooled(second)`, two scores of the same items, with interval and p value.

    Groups only tell that the items are the same. ValueError when they differ or no unit has both sides.
    """
    same_items(first, second)
    units = [unit(a).minus(unit(b)) for a, b in zip(usable(first), usable(second), strict=True)]
    return difference(_given(units), disjoint_pairs(units), level)


def _given(units: Sequence[Unit]) -> Spread:
    weights = np.array([float(one.pairs) for one in units])
    weights /= weights.sum()
    estimates, variances = np.array([(one.estimate, one.variance) for one in units]).T
    return Spread(float(weights @ estimates), float(weights**2 @ variances), np.inf)


def _p(found: Spread, pairs: int) -> float:
    """On the logit scale, so that it is below 1 - level exactly where the interval leaves a coin out."""
    centre = found.estimate
    if found.variance < NOTHING or not 0 < centre < 1:
        return 1.0 if centre == COIN else min(1.0, 2.0 ** (1 - pairs))
    return 2 * float(ndtr(-abs(logit(centre)) * centre * (1 - centre) / np.sqrt(found.variance)))
