"""Scores by hand, and scores recomputed from a model's own logits in plain NumPy at float64."""

import math
import zlib
from pathlib import Path

import numpy as np
import pytest

from fedrand.audit.attacks import FAMILIES, ScoreAttack, Seen, score_attacks
from fedrand.audit.attacks.lira import offline_lira
from fedrand.audit.attacks.loss import loss
from fedrand.audit.attacks.lowercase import lowercase_ratio
from fedrand.audit.attacks.min_k import min_k
from fedrand.audit.attacks.min_k_plus_plus import min_k_plus_plus
from fedrand.audit.attacks.mod_renyi import mod_renyi
from fedrand.audit.attacks.percent import mean_of_lowest
from fedrand.audit.attacks.reference import reference
from fedrand.audit.attacks.renyi import max_renyi
from fedrand.audit.attacks.rmia import rmia
from fedrand.audit.attacks.zlib_ratio import zlib_ratio
from fedrand.data.example import Example, ImageSource
from fedrand.generate import Description
from fedrand.models.runtime import torch
from fedrand.score import ALPHAS, CLAMPS, MOD_ALPHAS, TokenScores, distributions

P = np.array([0.5, 0.25, 0.125, 0.125])
VOCABULARY = 50


def token_scores(logits: np.ndarray, targets: np.ndarray, clamp: float = 0.0, **more) -> TokenScores:
    found = distributions(torch.from_numpy(logits), torch.from_numpy(targets), clamp)
    return TokenScores(id="x", **vars(found), **more)


def known(*outcomes: int) -> TokenScores:
    """A model that says (1/2, 1/4, 1/8, 1/8) everywhere."""
    return token_scores(np.log(np.tile(P, (len(outcomes), 1))), np.array(outcomes))


def random_scores(rng: np.random.Generator, answer: int, caption: int, ended: bool = True) -> tuple[Seen, dict]:
    """Seen of random logits, and the logits: answer [answer + 1], caption [caption (+ 1)], image [5], instruction [4]."""
    sizes = {"answer": answer + 1, "caption": caption + ended, "image": 5, "instruction": 4}
    logits = {name: rng.normal(0, 3, (size, VOCABULARY)) for name, size in sizes.items()}
    targets = rng.integers(0, VOCABULARY, answer + 1)
    views = {name: token_scores(logits[name], np.zeros(sizes[name], int)).renyi for name in sizes}
    scores = token_scores(logits["answer"], targets, image=views["image"], instruction=views["instruction"])
    said = Description(np.arange(caption), views["caption"])
    return Seen("a red cat", scores, said, scores.loss), logits | {"targets": targets}


def softmax(logits: np.ndarray) -> np.ndarray:
    power = np.exp(logits - logits.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def entropy(p: np.ndarray, alpha: float) -> float:
    if alpha == 1:
        return -float(np.sum(p * np.log(p)))
    return -math.log(p.max()) if math.isinf(alpha) else math.log(np.sum(p**alpha)) / (1 - alpha)


def modified(p: np.ndarray, y: int, alpha: float) -> float:
    """Term by term as in the paper, with the sign of VL-MIA."""
    b, rest = abs(1 - alpha), np.delete(p, y)
    if not b:
        return float(-(1 - p[y]) * math.log(p[y]) - np.sum(rest * np.log(1 - rest)))
    return -float((1 - p[y]) * p[y] ** b - (1 - p[y]) + np.sum(rest * (1 - rest) ** b) - rest.sum()) / b


def test_loss_is_minus_the_mean_and_reference_what_training_gained():
    model, base = known(0, 1), known(1, 2)
    assert loss(model) == pytest.approx(-1.5 * math.log(2))
    assert reference(loss(model), loss(base)) == pytest.approx(math.log(2))


def test_zlib_divides_the_whole_likelihood_by_the_packed_bytes():
    assert zlib_ratio(known(0, 1), "a cat") == pytest.approx(-3 * math.log(2) / len(zlib.compress(b"a cat")))


def test_a_text_that_is_likelier_as_written_scores_above_one():
    assert lowercase_ratio(known(0), 2 * math.log(2)) == pytest.approx(2.0)
    assert lowercase_ratio(known(0), known(0).loss) == 1.0


@pytest.mark.parametrize(("percent", "expected"), [(0, -4.0), (10, -4.0), (50, -3.5), (75, -3.0), (100, -2.5)])
def test_max_renyi_is_minus_the_mean_of_the_largest(percent, expected):
    assert max_renyi(np.array([1.0, 4.0, 2.0, 3.0]), percent) == expected


def test_k_percent_is_a_whole_number_of_positions_and_at_least_one():
    values = np.arange(30.0)
    assert mean_of_lowest(values, 10) == 1.0  # 3 of 30; 0.1 * 30 in floating point is above 3, 0.29 * 100 below 29
    assert mean_of_lowest(np.arange(100.0), 29) == 14.0
    assert mean_of_lowest(values, 3) == 0.0


@pytest.mark.parametrize(("alpha", "expected"), [(0.5, 0.392173), (1.0, 0.451877), (2.0, 0.343750)])
def test_mod_renyi_of_a_known_distribution(alpha, expected):
    assert -mod_renyi(known(0), alpha) == pytest.approx(expected, abs=1e-6)


def test_min_k_plus_plus_of_a_known_distribution():
    z = [0.904534, -0.301511, -1.507557, -1.507557]
    assert min_k_plus_plus(known(0, 1, 2, 3), 0) == pytest.approx(min(z), abs=1e-6)
    assert min_k_plus_plus(known(0, 1, 2, 3), 100) == pytest.approx(np.mean(z), abs=1e-6)
    assert min_k(known(0, 1, 2, 3), 50) == pytest.approx(math.log(1 / 8))


def test_a_certain_model_scores_half_a_nat_of_order_one_half_where_the_reference_code_clamps():
    logits = np.full((1, 32000), -1e4)
    logits[0, 7] = 0
    exact, clamped = (token_scores(logits, np.array([7]), CLAMPS[mode]) for mode in ("exact", "vlmia"))
    assert exact.renyi[:, 0].tolist() == [0, 0, 0, 0]
    assert clamped.renyi[0, 0] == pytest.approx(0.555, abs=5e-4)
    assert clamped.renyi[1:, 0] == pytest.approx([0, 0, 0], abs=1e-4)
    assert clamped.logp[0] == 0


@pytest.mark.parametrize("mode", CLAMPS)
@pytest.mark.parametrize("target", [7, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_score_of_a_certain_model_is_nan(mode, target, dtype):
    logits = np.full((1, 32000), -np.inf, dtype)
    logits[0, 7] = 0
    found = token_scores(logits, np.array([target]), CLAMPS[mode])
    own = [loss(found), min_k_plus_plus(found, 0), *found.renyi[:, 0], *found.mod_renyi[:, 0]]
    assert np.isfinite(own).all()


@pytest.mark.parametrize(("answer", "caption"), [(9, 12), (30, 31)])
def test_every_attack_agrees_with_numpy_on_the_models_own_logits(answer, caption):
    seen, logits = random_scores(np.random.default_rng(0), answer, caption)
    p, targets = softmax(logits["answer"]), logits["targets"]
    logp = np.log(p[np.arange(answer + 1), targets])
    mean = np.sum(p * np.log(p), -1)
    z = (logp - mean) / np.sqrt(np.sum(p * np.log(p) ** 2, -1) - mean**2)
    scored = {  # the paper's T - 1 positions
        "image": softmax(logits["image"][:-1]),
        "instruction": softmax(logits["instruction"][:-1]),
        "caption": softmax(logits["caption"][1:caption]),
        "answer": softmax(logits["answer"][1:answer]),
    }
    expected = {"reference": logp.mean(), "loss": logp.mean(), "lowercase": 1.0}
    expected["zlib"] = logp.sum() / len(zlib.compress(b"a red cat"))
    expected |= {f"Min-{k}%": lowest(logp, k) for k in (0, 10)}
    expected |= {f"Min-{k}%++": lowest(z, k) for k in (0, 10, 100)}
    for alpha, order in zip(ALPHAS, ("", " order 1", " order 2", " order inf"), strict=True):
        if alpha in MOD_ALPHAS:
            own = [modified(q, y, alpha) for q, y in zip(p, targets, strict=True)]
            expected[f"ModRenyi{order}"] = -np.mean(own)
        for k in (0, 10, 100):
            for name, rows in scored.items():
                expected[f"MaxRenyi-{k}%{order}", name] = lowest([-entropy(q, alpha) for q in rows], k)
    attacks = score_attacks((0, 10, 100), "all", [example("a red Cat")])
    assert len(attacks) == len(expected)
    for attack in attacks:
        known = expected.get((attack.name, attack.slice), expected.get(attack.name))
        assert attack.score(seen) == pytest.approx(known, abs=1e-9), attack.name


def lowest(values, percent: int) -> float:
    count = max(1, int(len(values) * percent / 100 + 1e-9))
    return float(np.mean(sorted(values)[:count]))


@pytest.mark.parametrize("caption", [0, 1, 2, 3])
@pytest.mark.parametrize("answer", [1, 2, 3])
def test_texts_of_a_few_tokens_have_a_number_for_every_attack(answer, caption):
    for ended in (True, False) if caption else (True,):
        seen, _ = random_scores(np.random.default_rng(1), answer, caption, ended)
        for attack in score_attacks((0, 10, 100), "all", [example("Cat")]):
            assert math.isfinite(attack.score(seen)), attack.name
        assert seen.entropies("caption").shape == (4, max(1, caption - 1))
        assert seen.entropies("answer").shape == (4, max(1, answer - 1))


def example(answer: str, prompt: str = "coco", image: bool = True) -> Example:
    return Example("e", ImageSource(Path("x.png")) if image else None, prompt, answer, (answer,))


def reasons(examples, family: str = "paper") -> dict[tuple[str, str], str]:
    return {(a.name, a.slice): a.reason for a in score_attacks((0, 10), family, examples) if a.reason}


def test_an_attack_that_does_not_apply_says_why():
    assert reasons([example("a cat")]) == {("lowercase", "answer"): "every text is in lower case already"}
    assert reasons([example("A cat"), *[example("a cat")] * 3]) == {}
    assert "100% of the texts" in reasons([example("A cat")])["lowercase", "answer"]
    assert reasons([example("A cat")], "all") == {}
    assert "no image" in reasons([example("A cat", image=False)], "all")["MaxRenyi-0%", "image"]
    assert "after the image" in reasons([example("A cat", "What? {image}")], "all")["MaxRenyi-0%", "instruction"]


def test_the_family_of_the_paper_is_a_small_part_of_all():
    every, few = (score_attacks((0, 10, 100), family, [example("a cat")]) for family in ("all", "paper"))
    slots = [[(a.name, a.slice) for a in table] for table in (every, few)]
    assert set(slots[1]) < set(slots[0]) and len(slots[1]) == 22 < len(slots[0]) == len(set(slots[0]))
    assert {name for _, name in slots[1]} == {"answer", "caption", "image", "instruction"}
    assert FAMILIES.keys() == {"paper", "all"} and all(isinstance(a, ScoreAttack) for a in every)
    assert len(MOD_ALPHAS) + len(ALPHAS) == 7


def test_lira_by_hand():
    shadows = np.array([[-2.0, -4.0], [-1.0, -1.0]])  # means -3 and -1; variances 2 and 0, pooled 1
    assert offline_lira(np.array([-1.0, -2.0]), shadows).tolist() == [2.0, -1.0]
    assert offline_lira(np.array([-1.0]), np.array([[-3.0]])).tolist() == [2.0]
    assert np.isfinite(offline_lira(np.array([-1.0]), np.array([[-3.0, -3.0]]))).all()
    with pytest.raises(ValueError, match="shadow scores"):
        offline_lira(np.array([1.0]), np.zeros((1, 0)))


def test_rmia_by_hand():
    log = np.log
    target, shadows = log([0.4, 0.1]), log([[0.2], [0.2]])  # p(x|target)/p(x): 2 and 1/2
    others, theirs = log([0.2, 0.2, 0.5]), log([[0.2], [0.4], [0.2]])  # 1, 1/2, 5/2
    found = rmia(target, shadows, others, theirs, gamma=1.0, a=1.0)
    assert found == pytest.approx([2 / 3, 1 / 3])
    assert rmia(target, shadows, others, theirs, gamma=1.5, a=1.0) == pytest.approx([2 / 3, 0])
