"""Scores by hand: four positions whose entropies and likelihoods are known."""

import numpy as np
import pytest

from fedrand.audit.attacks.loss import loss
from fedrand.audit.attacks.reference import reference
from fedrand.audit.attacks.renyi import max_renyi
from fedrand.audit.verdict import sentences
from fedrand.score import TokenScores


def scores(logp, half=(1.0, 4.0, 2.0, 3.0)) -> TokenScores:
    zeros = np.zeros(4)
    renyi = np.array([half, zeros, zeros, zeros])
    return TokenScores(np.array(logp), zeros, zeros, renyi, zeros, "x")


def test_loss_is_minus_the_mean_and_reference_what_training_gained():
    model, base = scores([-1.0, -2.0, -1.0, 0.0]), scores([-2.0, -2.0, -2.0, -2.0])
    assert loss(model) == -1.0
    assert reference(model, base) == 1.0


@pytest.mark.parametrize(("percent", "expected"), [(0, -4.0), (10, -4.0), (50, -3.5), (100, -2.5)])
def test_max_renyi_is_minus_the_mean_of_the_largest(percent, expected):
    assert max_renyi(scores([0.0] * 4), percent) == expected


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.55, 0.7, "membership leaks"), (0.45, 0.6, "no leak shown by this attack"), (0.3, 0.45, "below a coin")],
)
def test_the_closing_words_follow_the_interval(low, high, words):
    row = {
        "model": "server",
        "attack": "reference",
        "auroc": (low + high) / 2,
        "low": low,
        "high": high,
        "applies": True,
    }
    said = sentences({"protocols": {"P1": {"rows": [{**row, "headline": True}]}}})
    assert words in said[0]
    assert all("private" not in sentence.lower() for sentence in said)
