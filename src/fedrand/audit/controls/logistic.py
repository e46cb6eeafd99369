"""L2 logistic regression by Newton's method, cross-fitted: every score is of a classifier that never saw its group."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
STEPS, ENOUGH = 25, 1e-6


def logistic(x: Values, y: Values, penalty: float = 1.0) -> Values:
    """Weights [features + 1], the last an intercept that is not penalised, of x [n, features] and y [n] in {0, 1}.

    Minimises the weighted negative log-likelihood plus penalty / 2 ||w||^2; both classes weigh the same, n / 2.
    """
    design = np.column_stack([x, np.ones(len(x))])
    weight = len(y) / 2 / np.where(y > 0.5, max(y.sum(), 1), max(len(y) - y.sum(), 1))
    ridge = np.append(np.full(x.shape[1], penalty), 1e-9)
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        slope = design.T @ (weight * (p - y)) + ridge * found
        bend = (design.T * (weight * p * (1 - p))) @ design + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < ENOUGH:
            break
    return found


def cross_fitted(x: Values, y: Values, groups: Sequence[str], rng: np.random.Generator, folds: int = 5) -> Values:
    """Log-odds [n] of y = 1, each from the other folds alone; a group is never parted. Columns are standardised.

    Folds take about as many groups of either side, so that none is a stranger to the rest.
    """
    fold = _folds(y, groups, rng, folds)
    scores = np.zeros(len(y))
    for number in np.unique(fold):
        out = fold == number
        mean, spread = x[~out].mean(0), x[~out].std(0)
        scaled = (x - mean) / np.where(spread > 1e-12, spread, 1.0)
        weights = logistic(scaled[~out], y[~out], penalty=max(1.0, x.shape[1] / 10))
        scores[out] = scaled[out] @ weights[:-1] + weights[-1]
    return scores


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
