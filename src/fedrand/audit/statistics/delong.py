"""DeLong, DeLong and Clarke-Pearson (1988), in the sorted form of Sun and Xu (2014): independent items, one unit."""

import numpy as np

from fedrand.audit.statistics.influence import Unit, disjoint_pairs, lone_items
from fedrand.audit.statistics.sample import Difference, Interval, Sample, Values, same_items
from fedrand.audit.statistics.two_level import Spread, auroc_interval, difference


def delong(members: Values, others: Values, level: float = 0.95) -> Interval:
    """AUROC with DeLong's normal interval on the logit scale; where nothing varies (AUROC 0 or 1, all scores equal) what
    that many independent pairs allow; with a single item on a side, close to all of [0, 1]. Items in clusters need
    `two_level_interval`. ValueError when a side is empty or a score is NaN.
    """
    _complete(members, others)
    one = lone_items(members, others)
    return auroc_interval(_normal(one), disjoint_pairs([one]), level)


def paired_delong(first: Sample, second: Sample, level: float = 0.95) -> Difference:
    """The AUROC of `first` minus that of `second`, two scores of the same items, with interval and p value.

    Groups only tell that the items are the same. ValueError when they differ or a side is empty.
    """
    same_items([first], [second])
    _complete(first.members, first.others)
    one = lone_items(first.members, first.others).minus(lone_items(second.members, second.others))
    return difference(_normal(one), disjoint_pairs([one]), level)


def _normal(one: Unit) -> Spread:
    return Spread(one.estimate, one.variance, np.inf)


def _complete(members: Values, others: Values) -> None:
    if not len(members) or not len(others):
        raise ValueError(f"AUROC needs members and non-members, there are {len(members)} and {len(others)}")
    if np.isnan(members).any() or np.isnan(others).any():
        raise ValueError("a score is NaN; an attack must give a number for every item")
