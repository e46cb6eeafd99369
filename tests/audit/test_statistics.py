"""AUROC by ranks, on scores whose answer is known."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm
from score_worlds import lone

from fedrand.audit.statistics import auroc, placements, pooled, wins


def test_auroc_by_hand_with_a_tie():
    # pairs: 3>1, 3>2, 2>1, 2=2 -> 3.5 of 4
    assert wins(np.array([3.0, 2.0]), np.array([1.0, 2.0])) == 3.5
    assert auroc(np.array([3.0, 2.0]), np.array([1.0, 2.0])) == 3.5 / 4


def test_equal_scores_are_a_coin_and_swapped_sides_mirror():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=30), rng.normal(size=40)
    assert auroc(np.ones(5), np.ones(7)) == 0.5
    assert auroc(a, b) == pytest.approx(1 - auroc(b, a), abs=1e-12)


def test_shifted_gaussians_give_phi_of_mu_over_root_two():
    rng = np.random.default_rng(1)
    found = auroc(rng.normal(1.0, 1, 100_000), rng.normal(0, 1, 100_000))
    assert found == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.003)


@pytest.mark.parametrize("digits", [0, 1, 15])
def test_ties_count_as_mann_and_whitney_count_them(digits):
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.4, 1, 500).round(digits), rng.normal(0, 1, 300).round(digits)
    assert auroc(a, b) == pytest.approx(mannwhitneyu(a, b).statistic / (500 * 300), abs=1e-12)


def test_a_score_of_infinity_is_a_score():
    assert auroc(np.array([np.inf, 0.0]), np.array([-np.inf, np.inf])) == (0.5 + 1 + 0 + 1) / 4


def test_placements_are_each_items_share_of_won_pairs():
    above, below = placements(np.array([3.0, 2.0]), np.array([1.0, 2.0, 5.0]))
    assert above.tolist() == [2 / 3, 1.5 / 3]
    assert below.tolist() == [1.0, 0.75, 0.0]


def test_no_pair_crosses_units():
    # Each unit alone is a coin, but the second's scores all lie higher and it holds most members.
    low, high = lone([0, 1], [0, 1, 0, 1]), lone([10, 11, 10, 11], [10, 11])
    assert pooled([low, high]) == 0.5
    assert auroc(np.array([0, 1, 10, 11, 10, 11.0]), np.array([0, 1, 0, 1, 10, 11.0])) > 0.6


def test_nan_empty_sides_and_groups_that_do_not_fit_are_errors():
    with pytest.raises(ValueError, match="NaN"):
        lone([np.nan], [1.0])
    with pytest.raises(ValueError, match="no unit"):
        pooled([lone([], [1.0])])
    with pytest.raises(ValueError, match="there are 0 and 1"):
        auroc(np.array([]), np.array([1.0]))
    with pytest.raises(ValueError, match="2 scores but 1 groups"):
        type(lone([1], [0]))(np.ones(2), ["a"], np.ones(1), ["b"])
