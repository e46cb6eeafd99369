"""FedAvg (McMahan et al., 2017), on LoRA also known as FedIT: every key is shared in every round."""

from dataclasses import dataclass

import numpy as np

from fedrand.params import Keys
from fedrand.strategy import Split, Strategy, Turn


@dataclass(frozen=True)
class Everything:
    def split(self, keys: Keys, turn: Turn, rng: np.random.Generator) -> Split:
        return Split(shared=keys)

    def fault(self, keys: Keys, sent: Keys, round: int) -> str | None:
        missing = keys - sent
        return f"{len(missing)} tensors missing, first {min(missing)}" if missing else None


def fedavg() -> Strategy:
    """The baseline: both halves travel, nothing is private."""
    return Strategy("fedavg", Everything())
