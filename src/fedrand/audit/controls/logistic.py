"""L2 logistic regression by Newton's method, cross-fitted: every score is of a classifier that never saw its group.

Rows are asked for a portion at a time, so a table may make them as they are needed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
STEPS, ENOUGH = 25, 1e-6
PORTION = 4096  # rows held at a time


class Table(Protocol):
    """Rows of features; an array is one. `table[start:stop]` is [rows, features]."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: slice, /) -> Values: ...


class Portion(NamedTuple):
    """Some rows, and where they stand in the table."""

    x: Values
    places: NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """The rows of a table that `kept` [rows] marks."""

    table: Table
    kept: NDArray[np.bool_]

    def portions(self) -> Iterator[Portion]:
        for start in range(0, len(self.kept), PORTION):
            inside = self.kept[start : start + PORTION]
            if inside.any():
                yield Portion(self.table[start : start + PORTION][inside], start + np.flatnonzero(inside))

    def total(self, of: Callable[[Values], Values]) -> Values:
        """The sum over rows of what `of` makes of them, [features]."""
        return sum((of(portion.x).sum(0) for portion in self.portions()), np.zeros(self.table.shape[1]))


@dataclass(frozen=True)
class Scaled:
    """A table whose columns were standardised by a part of it; a column without spread is only centred."""

    table: Table
    mean: Values
    spread: Values

    @property
    def shape(self) -> tuple[int, ...]:
        return self.table.shape

    def __getitem__(self, rows: slice, /) -> Values:
        return (self.table[rows] - self.mean) / np.where(self.spread > 1e-12, self.spread, 1.0)


def logistic(part: Part, y: Values, penalty: float = 1.0) -> Values:
    """Weights [features + 1], the last an intercept that is not penalised, of the part's rows and their y in {0, 1};
    y [rows of the table].

    Minimises the weighted negative log-likelihood plus penalty / 2 ||w||^2; both classes weigh the same, n / 2.
    """
    inside = y[part.kept]
    count, ones = len(inside), inside.sum()
    sides = np.array([max(count - ones, 1), max(ones, 1)])  # of y = 0, of y = 1
    ridge = np.append(np.full(part.table.shape[1], penalty), 1e-9)
    found = np.zeros(part.table.shape[1] + 1)
    for _ in range(STEPS):
        slope, bend = ridge * found, np.diag(ridge)
        for x, places in part.portions():
            design, own = np.column_stack([x, np.ones(len(x))]), y[places]
            weight = count / 2 / sides[(own > 0.5).astype(int)]
            p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
            slope = design.T @ (weight * (p - own)) + slope
            bend = (design.T * (weight * p * (1 - p))) @ design + bend
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < ENOUGH:
            break
    return found


def cross_fitted(x: Table, y: Values, groups: Sequence[str], rng: np.random.Generator, folds: int = 5) -> Values:
    """Log-odds [n] of y = 1, each from the other folds alone; a group is never parted. Columns are standardised.

    Folds take about as many groups of either side, so that none is a stranger to the rest.
    """
    fold = _folds(y, groups, rng, folds)
    scores = np.zeros(len(y))
    for number in np.unique(fold):
        out = fold == number
        scaled = _standardised(x, ~out)
        weights = logistic(Part(scaled, ~out), y, penalty=max(1.0, x.shape[1] / 10))
        for portion in Part(scaled, out).portions():
            scores[portion.places] = portion.x @ weights[:-1] + weights[-1]
    return scores


def _standardised(x: Table, kept: NDArray[np.bool_]) -> Scaled:
    """By mean and spread of the kept rows."""
    part, count = Part(x, kept), int(kept.sum())
    mean = part.total(lambda rows: rows) / count
    return Scaled(x, mean, np.sqrt(part.total(lambda rows: (rows - mean) ** 2) / count))


def _folds(y: Values, groups: Sequence[str], rng: np.random.Generator, folds: int) -> NDArray[np.int64]:
    owner = dict(_dealt(y, groups, rng, folds))
    if len(set(owner.values())) < 2:
        raise ValueError(f"{len(owner)} group of examples cannot be cross-fitted; there must be two at least")
    return np.array([owner[group] for group in groups])


def _dealt(y: Values, groups: Sequence[str], rng: np.random.Generator, folds: int) -> Iterator[tuple[str, int]]:
    inside = {group for group, side in zip(groups, y, strict=True) if side > 0.5}
    turn = 0
    for side in (inside, set(groups) - inside):
        for group in rng.permutation(sorted(side)).tolist():
            yield group, turn % folds
            turn += 1
