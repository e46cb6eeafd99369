"""K% of a text's positions, as every attack with a K counts them."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def mean_of_lowest(values: Values, percent: int) -> float:
    """Mean of the max(1, int(T K)) lowest of T values; of the single lowest one at K = 0."""
    count = max(1, len(values) * percent // 100)
    return float(np.partition(values, count - 1)[:count].mean())
