"""Many attacks on the same people: intervals that hold for all of them together.

Single-step max-T (Westfall and Young, 1993) by a multiplier bootstrap (Chernozhukov, Chetverikov and Kato, 2013): one
random weight per cluster moves every attack's AUROC at once, so attacks that agree cost little.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from fedrand.audit.statistics.influence import Unit, disjoint_pairs, unit
from fedrand.audit.statistics.sample import Interval, Sample, Values
from fedrand.audit.statistics.two_level import NOTHING, auroc_interval, spread


class Family(NamedTuple):
    """The critical value in place of 1.96, the level of each single interval, and the intervals by row."""

    critical: float
    single: float
    intervals: dict[str, Interval]


def family(
    rows: Mapping[str, Mapping[str, Sample]],
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Family:
    """row -> unit -> scores: `two_level_interval`s widened until all hold at once in a share `level` of audits.

    Rows are tied by the clusters of units of the same name. ValueError for a row without a usable unit, or no row.
    """
    pieces = {row: _units(row, samples) for row, samples in rows.items()}
    if not pieces:
        raise ValueError("a family needs at least one row of scores")
    critical = _critical(_moves(pieces), rng, resamples, level)
    single = float(1 - 2 * ndtr(-critical))
    intervals = {
        row: auroc_interval(spread([*units.values()]), disjoint_pairs([*units.values()]), single)
        for row, units in pieces.items()
    }
    return Family(critical, single, intervals)


def _units(row: str, samples: Mapping[str, Sample]) -> dict[str, Unit]:
    units = {name: unit(sample) for name, sample in samples.items() if sample.usable}
    if not units:
        raise ValueError(f"{row}: no unit has both members and non-members")
    return units


def _moves(pieces: Mapping[str, Mapping[str, Unit]]) -> Values:
    """How far each cluster moves each row's estimate, [clusters, rows]."""
    places: dict[tuple[str, object], int] = {}
    entries: list[tuple[list[int], Values]] = []
    for units in pieces.values():
        total = sum(one.pairs for one in units.values())
        where = [
            places.setdefault((name, cluster), len(places))
            for name, one in units.items()
            for cluster in one.clusters.tolist()
        ]
        entries.append((where, np.concatenate([one.moves.sum(0) * one.pairs / total for one in units.values()])))
    moves = np.zeros((len(places), len(entries)))
    for column, (where, values) in enumerate(entries):
        moves[where, column] = values
    return moves


def _critical(moves: Values, rng: np.random.Generator, resamples: int, level: float) -> float:
    """The share `level` of the largest standardised deviation over rows; rows that never vary add none."""
    norms = np.sqrt((moves**2).sum(0))
    moves = moves[:, norms**2 > NOTHING] / norms[norms**2 > NOTHING]
    if not moves.shape[1]:
        moves = np.ones((1, 1))
    values, vectors = np.linalg.eigh(moves.T @ moves)
    mix = vectors * np.sqrt(np.maximum(values, 0))  # its product with itself is the rows' correlation
    largest = np.abs(rng.standard_normal((resamples, mix.shape[1])) @ mix.T).max(1)
    return float(np.quantile(largest, level))
