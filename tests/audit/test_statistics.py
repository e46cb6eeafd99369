"""AUROC and its two-level interval, on scores whose answer is known."""

import numpy as np
import pytest
from scipy.stats import norm

from fedrand.audit.statistics import Sample, auroc, pooled, two_level_bootstrap


def sample(members, others) -> Sample:
    return Sample(
        np.array(members, float),
        [f"m{i}" for i in range(len(members))],
        np.array(others, float),
        [f"o{i}" for i in range(len(others))],
    )


def test_auroc_by_hand_with_a_tie():
    # pairs: 3>1, 3>2, 2>1, 2=2 -> 3.5 of 4
    assert auroc(np.array([3.0, 2.0]), np.array([1.0, 2.0])) == 3.5 / 4


def test_equal_scores_are_a_coin_and_swapped_sides_mirror():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=30), rng.normal(size=40)
    assert auroc(np.ones(5), np.ones(7)) == 0.5
    assert auroc(a, b) == pytest.approx(1 - auroc(b, a), abs=1e-12)


def test_shifted_gaussians_give_phi_of_mu_over_root_two():
    rng = np.random.default_rng(1)
    found = auroc(rng.normal(1.0, 1, 3000), rng.normal(0, 1, 3000))
    assert found == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.015)


def test_no_pair_crosses_units():
    # Each unit alone is a coin, but the second's scores all lie higher and it holds most members.
    low, high = sample([0, 1], [0, 1, 0, 1]), sample([10, 11, 10, 11], [10, 11])
    assert pooled([low, high]) == 0.5
    assert auroc(np.array([0, 1, 10, 11, 10, 11.0]), np.array([0, 1, 0, 1, 10, 11.0])) > 0.6


def coverage(spread: float, times: int = 200) -> float:
    """How often a 95% interval holds the truth, over 12 units whose shift is N(0.5, spread)."""
    rng, hits = np.random.default_rng(2), 0
    truth = norm.cdf(0.5 / np.sqrt(2 + spread**2))
    for _ in range(times):
        shifts = rng.normal(0.5, spread, 12)
        units = [sample(rng.normal(shift, 1, 25), rng.normal(0, 1, 25)) for shift in shifts]
        found = two_level_bootstrap(units, rng, 200, 0.95)
        hits += found.low <= truth <= found.high
    return hits / times


def test_an_interval_covers_its_truth_when_clients_differ():
    assert 0.88 <= coverage(spread=1.0) <= 0.99


def test_an_interval_is_never_too_narrow_when_clients_are_alike():
    assert coverage(spread=0.0) >= 0.95


def test_copies_of_an_item_in_one_group_do_not_narrow_the_interval():
    rng = np.random.default_rng(3)
    members, others = rng.normal(0.3, 1, 40), rng.normal(0, 1, 40)
    groups = [f"g{i}" for i in range(40)]
    once = Sample(members, groups, others, groups)
    copied = Sample(np.tile(members, 5), groups * 5, np.tile(others, 5), groups * 5)
    widths = []
    for unit in (once, copied):
        found = two_level_bootstrap([unit], np.random.default_rng(4), 2000)
        widths.append(found.high - found.low)
    assert widths[1] == pytest.approx(widths[0], rel=1e-9)


def test_nan_and_empty_sides_are_errors():
    with pytest.raises(ValueError, match="NaN"):
        sample([np.nan], [1.0])
    with pytest.raises(ValueError, match="no unit"):
        pooled([sample([], [1.0])])
