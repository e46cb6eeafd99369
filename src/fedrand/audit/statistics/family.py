"""Many attacks on the same people: intervals that hold for all of them together.

Single-step max-T (Westfall and Young, 1993) by a multiplier bootstrap (Chernozhukov, Chetverikov and Kato, 2013): one
random weight per cluster moves every attack's AUROC at once, so attacks that agree cost little.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fedrand.audit.statistics.influence import Unit, disjoint_pairs, unit
from fedrand.audit.statistics.sample import Interval, Sample, Values
from fedrand.audit.statistics.two_level import NOTHING, Spread, auroc_interval, spread

Column = list[tuple[NDArray[np.intp], Values]]


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
    if not rows:
        raise ValueError("a family needs at least one row of scores")
    places, columns, spreads = _Places(), list[Column](), dict[str, tuple[Spread, int]]()
    for row, samples in rows.items():  # a row's pieces are let go before the next one's are made
        units = _units(row, samples)
        spreads[row] = spread([*units.values()]), disjoint_pairs([*units.values()])
        columns.append(_column(units, places))
    critical = _critical(_moves(columns, len(places)), rng, resamples, level)
    single = float(1 - 2 * ndtr(-critical))
    return Family(critical, single, {row: auroc_interval(*known, single) for row, known in spreads.items()})


def _units(row: str, samples: Mapping[str, Sample]) -> dict[str, Unit]:
    units = {name: unit(sample) for name, sample in samples.items() if sample.usable}
    if not units:
        raise ValueError(f"{row}: no unit has both members and non-members")
    return units


class _Places:
    """A number for each cluster of each unit, in the order they come; rows on the same clusters share the numbers."""

    def __init__(self) -> None:
        self._known: dict[str, dict[object, int]] = {}
        self._last: dict[str, tuple[np.ndarray, NDArray[np.intp]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, name: str, clusters: np.ndarray) -> NDArray[np.intp]:
        last = self._last.get(name)
        if last is None or not np.array_equal(last[0], clusters):
            last = self._last[name] = clusters, np.array([self._number(name, one) for one in clusters.tolist()])
        return last[1]

    def _number(self, name: str, cluster: object) -> int:
        known = self._known.setdefault(name, {})
        if cluster not in known:
            known[cluster] = self._count
            self._count += 1
        return known[cluster]


def _column(units: Mapping[str, Unit], places: _Places) -> Column:
    """How far each cluster moves one row's estimate: where the clusters of each unit stand, and by how much."""
    total = sum(one.pairs for one in units.values())
    return [(places.of(name, one.clusters), one.moves.sum(0) * one.pairs / total) for name, one in units.items()]


def _moves(columns: list[Column], clusters: int) -> Values:
    """[clusters, rows]; empties the list."""
    moves = np.zeros((clusters, len(columns)))
    for number in reversed(range(len(columns))):
        for where, values in columns.pop():
            moves[where, number] = values
    return moves


def _critical(moves: Values, rng: np.random.Generator, resamples: int, level: float) -> float:
    """The share `level` of the largest standardised deviation over rows; rows that never vary add none."""
    norms = np.sqrt((moves**2).sum(0))
    moves = moves[:, norms**2 > NOTHING]
    moves /= norms[norms**2 > NOTHING]
    if not moves.shape[1]:
        moves = np.ones((1, 1))
    values, vectors = np.linalg.eigh(moves.T @ moves)
    mix = vectors * np.sqrt(np.maximum(values, 0))  # its product with itself is the rows' correlation
    largest = np.abs(rng.standard_normal((resamples, mix.shape[1])) @ mix.T).max(1)
    return float(np.quantile(largest, level))
