"""Attacks on what clients send, one file each; every score is higher for members. Pure NumPy: gradients, activations
and tensors are handed to them."""

from typing import NamedTuple

from fedrand.audit.threats import Sight

_SENT = frozenset({Sight.BROADCASTS, Sight.UPLOADS})


class UpdateAttack(NamedTuple):
    """An attack by the name that its scores carry, and what it must see."""

    name: str
    needs: frozenset[Sight]


UPDATE_ATTACKS = (
    UpdateAttack("gradient norm", _SENT),
    UpdateAttack("gradient cosine", _SENT),
    UpdateAttack("gradient difference", _SENT),
    UpdateAttack("span of A", _SENT),
    UpdateAttack("span of B", _SENT),
    UpdateAttack("FedMIA cosine", _SENT | {Sight.OTHERS}),
    UpdateAttack("FedMIA loss", _SENT | {Sight.OTHERS}),
)
