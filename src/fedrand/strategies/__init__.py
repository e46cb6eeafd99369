"""The methods, one file per paper; `STRATEGIES` names them for recipes and the command line."""

from collections.abc import Callable

from fedrand.strategies.centralised import centralised
from fedrand.strategies.fedavg import fedavg
from fedrand.strategies.fedpara import fedpara
from fedrand.strategies.fedper import fedper
from fedrand.strategies.fedrand import fedrand
from fedrand.strategies.local import local
from fedrand.strategy import Strategy

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "fedavg": fedavg,
    "fedrand": fedrand,
    "fedper": fedper,
    "fedpara": fedpara,
    "local": local,
    "centralised": centralised,
}

__all__ = ["STRATEGIES", "centralised", "fedavg", "fedpara", "fedper", "fedrand", "local"]
