"""The methods, one file per paper; `STRATEGIES` names them for recipes and the command line."""

from collections.abc import Callable

from fedrand.strategies.fedavg import fedavg
from fedrand.strategies.fedrand import fedrand
from fedrand.strategy import Strategy

STRATEGIES: dict[str, Callable[..., Strategy]] = {"fedavg": fedavg, "fedrand": fedrand}

__all__ = ["STRATEGIES", "fedavg", "fedrand"]
