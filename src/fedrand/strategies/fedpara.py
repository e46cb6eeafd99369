"""FedPara (Hyeon-Woo et al., 2022) on LoRA: dW = (B A) * (B2 A2) elementwise; only the first pair travels."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedrand.params import FACTORS, Keys
from fedrand.strategy import Split, Strategy, Turn

GLOBAL = frozenset(FACTORS["lora"])
KINDS = {"fedpara": "hadamard", "pfedpara": "hadamard+1"}


@dataclass(frozen=True)
class FirstPair:
    """A and B travel; A2 and B2 begin at the client's own random value (B alone begins at zero) and never leave."""

    def split(self, keys: Keys, turn: Turn, rng: np.random.Generator) -> Split:
        shared = frozenset(key for key in keys if key.factor in GLOBAL)
        private = keys - shared
        return Split(shared, private, fresh=private if turn.first else frozenset())

    def fault(self, keys: Keys, sent: Keys, round: int) -> str | None:
        wrong = {key for key in keys if key.factor in GLOBAL} ^ sent
        return f"expected every A and B and nothing else; {min(wrong)} does not fit" if wrong else None


def fedpara(form: Literal["fedpara", "pfedpara"] = "fedpara") -> Strategy:
    """The server's model is W0 + B A alone. form: "pfedpara" has dW = (B A) * (B2 A2 + 1)."""
    return Strategy("fedpara", FirstPair(), adapter=KINDS[form], home=frozenset(FACTORS["hadamard"]) - GLOBAL)
