"""Numbers as text: what is missing, NaN or no number is an en dash, never a crash and never a zero."""

import math
from collections.abc import Mapping

MISSING = "\N{EN DASH}"
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
NATS = ("nll",)  # shown as they are
SCALE_NOTE = (
    "All scores of quality but the loss (NLL) are shown x 100, as the paper prints them; results.json has them raw."
)


def pick(tree: object, *path: str) -> object:
    """tree[path[0]][path[1]]...; None when a step is not there."""
    for name in path:
        if not isinstance(tree, Mapping) or name not in tree:
            return None
        tree = tree[name]
    return tree


def real(value: object) -> float | None:
    """The value as a finite float, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def number(value: object, digits: int = 3) -> str:
    """0.5 -> "0.500"."""
    known = real(value)
    return MISSING if known is None else f"{known:.{digits}f}"


def count(value: object) -> str:
    """1234567 -> "1,234,567"."""
    known = real(value)
    return MISSING if known is None else f"{known:,.0f}"


def spread(mean: object, std: object, digits: int = 3) -> str:
    """Mean and standard deviation over clients, "2.100 ± 0.200"."""
    return MISSING if real(mean) is None else f"{number(mean, digits)} {PLUS_MINUS} {number(std, digits)}"


def scaled(metric: str, value: object) -> float | None:
    """A metric's value as people read it: the loss as it is, any other x 100."""
    known = real(value)
    return known if known is None or metric in NATS else 100 * known


def score(metric: str, value: object) -> str:
    """A metric's value as text, on the scale of `scaled`: 0.585 of "cider_d" -> "58.5"."""
    return number(scaled(metric, value), _digits(metric))


def score_spread(metric: str, mean: object, std: object) -> str:
    """`spread` on the scale of `scaled`."""
    return spread(scaled(metric, mean), scaled(metric, std), _digits(metric))


def _digits(metric: str) -> int:
    return 3 if metric in NATS else 1


def interval(value: object, low: object, high: object, digits: int = 3) -> str:
    """A value and its confidence interval, "0.560 [0.530, 0.590]"."""
    return (
        MISSING if real(value) is None else f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"
    )


def probability(value: object) -> str:
    """A p value: "= 0.012", "< 0.001"."""
    known = real(value)
    return MISSING if known is None else "< 0.001" if known < 0.001 else f"= {known:.3f}"


def plain(value: object) -> str:
    """Any JSON value as short text."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return MISSING
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def flat(tree: object, name: str = "") -> dict[str, object]:
    """Nested tables as one: {"model": {"name": "tiny"}} -> {"model.name": "tiny"}."""
    if not isinstance(tree, Mapping):
        return {name: tree}
    parts = [flat(value, f"{name}.{key}" if name else str(key)) for key, value in tree.items()]
    return {key: value for part in parts for key, value in part.items()}
