"""What an upload passes through before it leaves the client."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedrand.params import Params


class Release(Protocol):
    def apply(self, start: Params, trained: Params, rng: np.random.Generator) -> Params:
        """The tensors to send, given the same keys before and after training."""
        ...


@dataclass(frozen=True)
class AsTrained:
    """The trained tensors as they are."""

    def apply(self, start: Params, trained: Params, rng: np.random.Generator) -> Params:
        return trained
