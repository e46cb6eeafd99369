"""Membership attacks, one file each; every score is higher for members."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fedrand.audit.attacks.loss import loss
from fedrand.audit.attacks.reference import reference
from fedrand.audit.attacks.renyi import max_renyi
from fedrand.score import TokenScores


class ScoreAttack(NamedTuple):
    """score(scores under the attacked model, under the base model). text: "answer" (the true caption) or "caption"
    (the model's own description of the image)."""

    name: str
    text: str
    score: Callable[[TokenScores, TokenScores], float]


def score_attacks(percents: Sequence[int]) -> list[ScoreAttack]:
    """Reference difference and loss on the true caption; MaxRenyi-K% on both texts."""
    renyi = [
        ScoreAttack(f"MaxRenyi-{k}%", text, lambda model, base, k=k: max_renyi(model, k))
        for text in ("caption", "answer")
        for k in percents
    ]
    return [
        ScoreAttack("reference", "answer", reference),
        ScoreAttack("loss", "answer", lambda model, base: loss(model)),
        *renyi,
    ]
