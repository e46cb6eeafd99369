"""Means over seeds with their intervals, and differences between methods on the same seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

LEVEL = 0.95


@dataclass(frozen=True)
class Cell:
    """mean and std (n - 1) over n seeds; half: half-width of the 95% t interval, None with one seed."""

    mean: float
    std: float | None
    half: float | None
    n: int

    @property
    def resolved(self) -> bool:
        """Of a difference: whether the interval leaves 0 out."""
        return self.half is not None and abs(self.mean) > self.half

    def text(self, digits: int = 2) -> str:
        if self.half is None:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {self.half:.{digits}f}"


def cell(values: Sequence[float]) -> Cell:
    """The cell of one figure's values over seeds (Student's t)."""
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return Cell(mean, None, None, n)
    std = float(np.std(values, ddof=1))
    return Cell(mean, std, float(t.ppf((1 + LEVEL) / 2, n - 1)) * std / math.sqrt(n), n)


def difference(own: Mapping[int, float], other: Mapping[int, float]) -> Cell | None:
    """own - other over the seeds that both have: the same data, dealt out alike; None when they share no seed."""
    shared = sorted(own.keys() & other.keys())
    return cell([own[seed] - other[seed] for seed in shared]) if shared else None
