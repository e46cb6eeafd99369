"""What an upload passes through before it leaves the client."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedrand.params import Params


class Release(Protocol):
    @property
    def tells(self) -> bool:
        """Whether a client's own figures (losses, norms) may travel beside its tensors."""
        ...

    def apply(self, start: Params, trained: Params, rng: np.random.Generator) -> Params:
        """The tensors to send, given the same keys before and after training."""
        ...


@dataclass(frozen=True)
class AsTrained:
    """The trained tensors as they are."""

    tells: bool = True

    def apply(self, start: Params, trained: Params, rng: np.random.Generator) -> Params:
        return trained


@dataclass(frozen=True)
class ClippedGaussian:
    """The change of all sent tensors together, clipped to the L2 norm `clip`, plus Gaussian noise of standard deviation
    `noise` * `clip` in every coordinate (McMahan et al., 2018, at the client).

    The change is taken from what the server sent, so an upload is a Gaussian mechanism of sensitivity `clip` when a
    client's data are replaced by none. No figure of the client travels beside it.
    """

    clip: float
    noise: float = 0.0
    tells: bool = False

    def apply(self, start: Params, trained: Params, rng: np.random.Generator) -> Params:
        change = {key: trained[key].astype(np.float64) - start[key] for key in sorted(trained)}
        norm = math.sqrt(sum(float(np.vdot(value, value)) for value in change.values()))
        kept = min(1.0, self.clip / norm) if norm else 1.0
        return {key: self._sent(start[key], kept * value, rng) for key, value in change.items()}

    def _sent(self, start: np.ndarray, change: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.normal(0.0, self.noise * self.clip, change.shape) if self.noise else 0.0
        return (start + change + noise).astype(start.dtype)
