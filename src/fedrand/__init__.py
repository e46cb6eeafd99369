"""Privacy-enhanced federated fine-tuning of vision-language models: FedRand (arXiv 2503.07216) and what it leaks."""

from fedrand.params import Key, Keys, Params
from fedrand.strategies import STRATEGIES, fedavg, fedrand
from fedrand.strategy import Split, Strategy

__version__ = "0.1.0"
__all__ = ["STRATEGIES", "Key", "Keys", "Params", "Split", "Strategy", "fedavg", "fedrand"]
