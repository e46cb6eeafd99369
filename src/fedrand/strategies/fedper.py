"""FedPer (Arivazhagan et al., 2019) as the FedRand paper uses it: the top layers are shared, the others stay private."""

from dataclasses import dataclass

import numpy as np

from fedrand.params import Keys
from fedrand.strategy import Split, Strategy, Turn


@dataclass(frozen=True)
class TopLayers:
    """The `count` layers nearest the output travel. Round 0 is a round of FedAvg, and each client's private layers
    begin at its aggregate: the server's value, which never changes afterwards."""

    count: int

    def split(self, keys: Keys, turn: Turn, rng: np.random.Generator) -> Split:
        shared = self._shared(keys, turn.round)
        private = keys - shared
        begins = turn.first or turn.last == 0  # no private layer of its own yet: round 0 shared them all
        return Split(shared, private, from_server=private if begins else frozenset())

    def fault(self, keys: Keys, sent: Keys, round: int) -> str | None:
        wrong = self._shared(keys, round) ^ sent
        what = f"every tensor of the top {self.count} layers and nothing else" if round else "every tensor in round 0"
        return f"expected {what}; {min(wrong)} does not fit" if wrong else None

    def _shared(self, keys: Keys, round: int) -> Keys:
        depth = {key: _depth(key.layer) for key in keys}
        layers = sorted(set(depth.values()))
        if self.count > len(layers):
            raise ValueError(f"fedper: layers is {self.count}, the adapter has {len(layers)}; choose at most that many")
        top = layers[-self.count :]
        return keys if round == 0 else frozenset(key for key in keys if depth[key] in top)


def _depth(layer: str) -> int:
    """The place of a transformer layer, the first number in its name: 10 for "model.layers.10.mlp.up_proj"."""
    numbers = [int(part) for part in layer.split(".") if part.isdecimal()]
    if not numbers:
        raise ValueError(f"fedper: no number in the name of layer {layer}, so its place is not known")
    return numbers[0]


def fedper(layers: int = 2) -> Strategy:
    """layers: how many transformer layers, counted from the output, are shared; the paper has 2 and 4. A client
    downloads only what it will use: what it keeps private it takes once."""
    if layers < 1:
        raise ValueError(f"layers is {layers}; choose 1 or more")
    return Strategy("fedper", TopLayers(layers), download="drawn")
