"""Membership attacks, one file each; every score is higher for members."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fedrand.audit.attacks.loss import loss
from fedrand.audit.attacks.lowercase import lowercase_ratio
from fedrand.audit.attacks.min_k import min_k
from fedrand.audit.attacks.min_k_plus_plus import min_k_plus_plus
from fedrand.audit.attacks.mod_renyi import mod_renyi
from fedrand.audit.attacks.reference import reference
from fedrand.audit.attacks.renyi import max_renyi
from fedrand.audit.attacks.seen import SLICES, Seen
from fedrand.audit.attacks.zlib_ratio import zlib_ratio
from fedrand.data.example import Example
from fedrand.data.prompts import PLACEHOLDER, render
from fedrand.score import ALPHAS, MOD_ALPHAS

HEADLINE_ALPHA, HEADLINE_K = 0.5, 10
SECOND_PASS = 0.3  # of the audited texts may go through the model once more in the "paper" family

Score = Callable[[Seen], float]


class ScoreAttack(NamedTuple):
    """One attack on a model's scores of an example. slice: "answer" (the true text), "caption" (the model's own
    description), "image" or "instruction". against: where given, `score` is of one model alone and the attack is
    against(the model's, the base model's). reason: why it does not apply to the audited examples, "" where it does."""

    name: str
    slice: str
    score: Score
    against: Callable[[float, float], float] | None = None
    reason: str = ""


def score_attacks(percents: Sequence[int], family: str, examples: Sequence[Example]) -> list[ScoreAttack]:
    """The table: family "paper" is order 1/2 for every K and slice, the other orders for K = 10 on the caption, and one
    of each other attack; "all" is every order, K and slice. What cannot be scored on `examples` has its reason."""
    reasons = {name: reason for name, reason in _reasons(examples, family).items() if reason}
    attacks = [*_likelihood(), *FAMILIES[family](percents)]
    return [a._replace(reason=reasons.get(a.name) or reasons.get(a.slice, "")) for a in attacks]


def _likelihood() -> Iterator[ScoreAttack]:
    yield ScoreAttack("reference", "answer", lambda seen: loss(seen.answer), reference)
    yield ScoreAttack("loss", "answer", lambda seen: loss(seen.answer))
    yield ScoreAttack("zlib", "answer", lambda seen: zlib_ratio(seen.answer, seen.text))
    yield ScoreAttack("lowercase", "answer", lambda seen: lowercase_ratio(seen.answer, seen.lowered))


def _paper(percents: Sequence[int]) -> Iterator[ScoreAttack]:
    yield from _min_k((HEADLINE_K,))
    yield _mod_renyi(HEADLINE_ALPHA)
    yield from (_max_renyi(name, k, HEADLINE_ALPHA) for name in SLICES for k in percents)
    yield from (_max_renyi("caption", HEADLINE_K, alpha) for alpha in ALPHAS if alpha != HEADLINE_ALPHA)


def _all(percents: Sequence[int]) -> Iterator[ScoreAttack]:
    yield from _min_k(percents)
    yield from map(_mod_renyi, MOD_ALPHAS)
    yield from (_max_renyi(name, k, alpha) for alpha in ALPHAS for name in SLICES for k in percents)


FAMILIES = {"paper": _paper, "all": _all}


def _min_k(percents: Sequence[int]) -> Iterator[ScoreAttack]:
    for k in percents:
        if k < 100:  # Min-100% is the loss
            yield ScoreAttack(f"Min-{k}%", "answer", lambda seen, k=k: min_k(seen.answer, k))
        yield ScoreAttack(f"Min-{k}%++", "answer", lambda seen, k=k: min_k_plus_plus(seen.answer, k))


def _mod_renyi(alpha: float) -> ScoreAttack:
    return ScoreAttack(f"ModRenyi{_order(alpha)}", "answer", lambda seen: mod_renyi(seen.answer, alpha))


def _max_renyi(name: str, k: int, alpha: float) -> ScoreAttack:
    row = ALPHAS.index(alpha)
    return ScoreAttack(f"MaxRenyi-{k}%{_order(alpha)}", name, lambda seen: max_renyi(seen.entropies(name)[row], k))


def _order(alpha: float) -> str:
    return "" if alpha == HEADLINE_ALPHA else f" order {alpha:g}"


def _reasons(examples: Sequence[Example], family: str) -> dict[str, str]:
    """Attack or slice -> why it does not apply."""
    bare = sum(example.image is None for example in examples)
    silent = sum(not render(example).rpartition(PLACEHOLDER)[2].strip() for example in examples)
    cased = sum(example.answer != example.answer.lower() for example in examples)
    share = cased / max(1, len(examples))
    return {
        "image": f"{bare} of {len(examples)} examples have no image" if bare else "",
        "instruction": f"{silent} of {len(examples)} prompts have no text after the image" if silent else "",
        "lowercase": _cased(share) if family == "paper" else ("" if cased else _cased(0.0)),
    }


def _cased(share: float) -> str:
    if not share:
        return "every text is in lower case already"
    if share > SECOND_PASS:
        return f'a second pass over {share:.0%} of the texts, more than this family is given; audit.attacks = "all"'
    return ""
