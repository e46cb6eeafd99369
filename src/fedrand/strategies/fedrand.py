"""FedRand (arXiv 2503.07216, Algorithms 1-2): each client shares a random LoRA factor and keeps the other to itself."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedrand.aggregation import Average
from fedrand.params import Keys
from fedrand.strategy import Odds, Split, Strategy, Turn

SAFE_GROUP = 3


@dataclass(frozen=True)
class RandomFactor:
    """a_k = 1{u < rho}: A is drawn with probability rho, else B; once for the client, or once per layer.

    "stratified": no coin but the client's place in the server's own random draw, so that exactly ceil(rho K') of the K'
    clients send A and no half has a lone sender by chance.
    """

    rho: float = 0.5
    draw: Literal["client", "layer", "stratified"] = "client"
    first: Literal["server", "fresh"] = "server"
    round0: Literal["shared", "independent"] = "shared"
    past: bool = True

    def split(self, keys: Keys, turn: Turn, rng: np.random.Generator) -> Split:
        return self._sharing(self._drawn(keys, turn, rng), keys, turn)

    def odds(self, keys: Keys, turn: Turn) -> Odds:
        """A alone, or B alone; where each layer draws for itself these are one layer's odds."""
        senders = senders_of_a(self.rho, turn.of)
        chance = senders / turn.of if self.draw == "stratified" else self.rho
        halves = {factor: frozenset(key for key in keys if key.factor == factor) for factor in "AB"}
        both = ((chance, halves["A"]), (1 - chance, halves["B"]))
        return [(share, self._sharing(half, keys, turn)) for share, half in both if share]

    def _sharing(self, shared: Keys, keys: Keys, turn: Turn) -> Split:
        private = keys - shared
        independent = turn.round == 0 and self.round0 == "independent"  # Alg. 2 taken literally
        own_start = turn.first and turn.round > 0 and self.first == "fresh"
        return Split(
            shared,
            private,
            from_server=private if turn.first or not self.past else frozenset(),
            fresh=keys if independent else private if own_start else frozenset(),
        )

    def _drawn(self, keys: Keys, turn: Turn, rng: np.random.Generator) -> Keys:
        layers = sorted({key.layer for key in keys})
        if self.draw == "stratified":
            factor = dict.fromkeys(layers, "A" if turn.place < senders_of_a(self.rho, turn.of) else "B")
        else:
            draws = rng.random(len(layers)) if self.draw == "layer" else np.full(len(layers), rng.random())
            factor = {layer: "A" if u < self.rho else "B" for layer, u in zip(layers, draws, strict=True)}
        return frozenset(key for key in keys if key.factor == factor[key.layer])

    def fault(self, keys: Keys, sent: Keys, round: int) -> str | None:
        layers = {key.layer for key in keys}
        if extra := {layer for layer in layers if sum(key.layer == layer for key in sent) > 1}:
            return f"both factors of {min(extra)}; a client sends one"
        if missing := layers - {key.layer for key in sent}:
            return f"neither factor of {min(missing)}"
        if self.draw != "layer" and len({key.factor for key in sent}) > 1:
            return "A of some layers and B of others; one draw holds for all layers"
        return None


def senders_of_a(rho: float, clients: int) -> int:
    """ceil(rho K'), not moved by the last bit of a product such as 0.7 * 10."""
    return math.ceil(round(rho * clients, 9))


def fedrand(
    rho: float = 0.5,
    draw: Literal["client", "layer", "stratified"] = "client",
    first: Literal["server", "fresh"] = "server",
    round0: Literal["shared", "independent"] = "shared",
    normalize: bool = True,
    past: bool = True,
    download: Literal["both", "drawn"] = "both",
    min_group: int = 0,
) -> Strategy:
    """The paper's method and its ablations.

    rho: probability of drawing A, in [0, 1]. draw: one draw for all layers, one "layer" by layer, or "stratified":
    exactly ceil(rho K') of K' clients send A. first: where the
    private half of a client first met after round 0 starts. round0: one A_0 for all, or each client's own
    ("independent"). normalize=False drops alpha and beta of eq. 8-10. past=False starts both halves at the server's
    ("w/o past parameters"). download: the server sends "both" halves, or only the one "drawn".
    min_group: a half that fewer clients sent keeps its old value, so that no average is one client's own; 0 stands for
    1, and for 3 with a stratified draw (a recipe lowers that to what its clients per round allow).
    """
    if not 0.0 <= rho <= 1.0:
        raise ValueError(f"rho is {rho}; it is a probability, choose one from 0 to 1")
    if min_group < 0:
        raise ValueError(f"min_group is {min_group}; choose 0 or more")
    smallest = min_group or (SAFE_GROUP if draw == "stratified" else 1)
    sharing = RandomFactor(rho, draw, first, round0, past)
    return Strategy("fedrand", sharing, Average(normalize, smallest), download=download, adapter="lora")
