"""When "no leak" may be said: two one-sided tests (Schuirmann, 1987), and what an audit of this size could have seen."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedrand.audit.statistics.influence import unit
from fedrand.audit.statistics.sample import Sample, usable
from fedrand.audit.statistics.two_level import quantile, spread, two_level_interval

COIN = 0.5
MARGIN = 0.05
"""An AUROC that is nearer to a coin is called no leak: fixed before any score is seen, and told with every verdict."""


class Equivalence(NamedTuple):
    """Whether the AUROC lies within `margin` of a coin, and the interval that decides it."""

    equivalent: bool
    margin: float
    low: float
    high: float


class Planned(NamedTuple):
    """What so many items can show of an AUROC near 0.5: the interval's half-width, and the least detectable AUROC."""

    half_width: float
    detectable: float


def equivalent(samples: Sequence[Sample], margin: float = MARGIN, level: float = 0.95) -> Equivalence:
    """TOST: both tests reject at 1 - level exactly when the interval at 2 level - 1 lies within 0.5 -+ margin.

    ValueError when the margin is not between 0 and 0.5 or no unit has both sides.
    """
    if not 0 < margin < COIN:
        raise ValueError(f"an equivalence margin lies between 0 and 0.5, not {margin:g}; 0.05 calls 0.55 no leak")
    found = two_level_interval(samples, max(0.0, 2 * level - 1))
    return Equivalence(COIN - margin < found.low and found.high < COIN + margin, margin, found.low, found.high)


def detectable(samples: Sequence[Sample], level: float = 0.95, power: float = 0.8) -> float:
    """The least AUROC above 0.5 that an audit with these scores' spread would show in a share `power` of audits;
    at most 1. ValueError when no unit has both sides."""
    found = spread([unit(sample) for sample in usable(samples)])
    reach = quantile(found.freedom, (1 + level) / 2) + quantile(found.freedom, power)
    return float(min(1.0, COIN + reach * np.sqrt(found.variance)))


def planned(sizes: Sequence[tuple[int, int]], level: float = 0.95, power: float = 0.8) -> Planned:
    """Before an audit: (members, others) of each unit, independent items, the variance of Mann and Whitney (1947) under no
    leak, units that do not differ.

    ValueError when there is no unit or a side is empty.
    """
    if not sizes or any(min(one) < 1 for one in sizes):
        raise ValueError(f"planning needs members and non-members in every unit, there are {list(sizes)}")
    pairs = np.array([members * others for members, others in sizes], float)
    variances = np.array([members + others + 1 for members, others in sizes]) / (12 * pairs)
    error = np.sqrt((pairs / pairs.sum()) ** 2 @ variances)
    half = quantile(np.inf, (1 + level) / 2)
    return Planned(float(half * error), float(min(1.0, COIN + (half + quantile(np.inf, power)) * error)))
