"""Privacy-enhanced federated fine-tuning of vision-language models: FedRand (arXiv 2503.07216) and what it leaks."""

from importlib import import_module
from typing import Any

from fedrand.params import Key, Keys, Params
from fedrand.strategies import STRATEGIES, centralised, fedavg, fedpara, fedper, fedrand, local
from fedrand.strategy import Split, Strategy

__version__ = "0.1.0"
__all__ = [
    "STRATEGIES",
    "Key",
    "Keys",
    "Params",
    "Split",
    "Strategy",
    "centralised",
    "fedavg",
    "fedpara",
    "fedper",
    "fedrand",
    "local",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """`fedrand.simulate`, which needs torch, is imported at its first use."""
    if name == "simulate":
        return import_module("fedrand.api").simulate
    raise AttributeError(f"module 'fedrand' has no attribute '{name}'")
