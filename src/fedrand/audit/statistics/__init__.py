"""How well scores tell members from non-members, and how sure that is; numpy and scipy alone, no file and no model."""

from fedrand.audit.statistics.delong import Fixed, delong, paired_delong
from fedrand.audit.statistics.equivalence import MARGIN, Equivalence, Planned, detectable, equivalent, planned
from fedrand.audit.statistics.family import Family, family
from fedrand.audit.statistics.one_run import Epsilon, epsilon_bound, one_run
from fedrand.audit.statistics.operating import Rate, Refused, Roc, roc, tpr
from fedrand.audit.statistics.permutation import Permuted, permuted
from fedrand.audit.statistics.rank import auroc, placements, pooled, wins
from fedrand.audit.statistics.sample import Difference, Interval, Sample
from fedrand.audit.statistics.two_level import two_level_difference, two_level_interval

__all__ = [
    "MARGIN",
    "Difference",
    "Epsilon",
    "Equivalence",
    "Family",
    "Fixed",
    "Interval",
    "Permuted",
    "Planned",
    "Rate",
    "Refused",
    "Roc",
    "Sample",
    "auroc",
    "delong",
    "detectable",
    "epsilon_bound",
    "equivalent",
    "family",
    "one_run",
    "paired_delong",
    "permuted",
    "placements",
    "planned",
    "pooled",
    "roc",
    "tpr",
    "two_level_difference",
    "two_level_interval",
    "wins",
]
