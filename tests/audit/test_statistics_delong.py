"""DeLong's variance in its fast form is the one that the definition gives, pair by pair."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import norm
from score_worlds import clients, lone

from fedrand.audit.statistics import Sample, delong, paired_delong, two_level_interval


def by_definition(members, others):
    """AUROCs [scores] and their covariance [scores, scores], from DeLong's table of pairs [scores, members, others]."""
    won = (members[:, :, None] > others[:, None, :]) + 0.5 * (members[:, :, None] == others[:, None, :])
    return won.mean((1, 2)), np.cov(won.mean(2)) / members.shape[1] + np.cov(won.mean(1)) / others.shape[1]


def ranked(seed: int, digits: int = 1):
    """Two scores of the same 50 members and 40 non-members, with ties."""
    rng = np.random.default_rng(seed)
    members, others = rng.normal(0.8, 1, (2, 50)), rng.normal(0, 1, (2, 40))
    members[1] += members[0]
    others[1] += others[0]
    return members.round(digits), others.round(digits)


def test_the_interval_is_the_one_of_the_definition():
    members, others = ranked(0)
    (auroc, _), covariance = by_definition(members, others)
    found = delong([lone(members[0], others[0])])
    assert found.auroc == pytest.approx(auroc, abs=1e-12)
    reach = norm.ppf(0.975) * np.sqrt(covariance[0, 0]) / (auroc * (1 - auroc))
    assert logit(found.high) - logit(auroc) == pytest.approx(reach, rel=1e-9)
    assert logit(auroc) - logit(found.low) == pytest.approx(reach, rel=1e-9)


def test_the_paired_difference_is_the_one_of_the_definition():
    members, others = ranked(1)
    aurocs, covariance = by_definition(members, others)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = paired_delong([lone(members[0], others[0])], [lone(members[1], others[1])])
    assert found.value == pytest.approx(aurocs[0] - aurocs[1], abs=1e-12)
    assert found.high - found.value == pytest.approx(norm.ppf(0.975) * error, rel=1e-9)
    assert found.p == pytest.approx(2 * norm.sf(abs(found.value) / error), rel=1e-9)


def test_intervals_cover_the_known_auroc():
    rng, truth, hits = np.random.default_rng(2), norm.cdf(1 / np.sqrt(2)), 0
    for _ in range(1000):
        found = delong([lone(rng.normal(1, 1, 100), rng.normal(0, 1, 100))])
        hits += found.low <= truth <= found.high
    assert 930 <= hits <= 970


def test_a_hundred_thousand_a_side_fit():
    rng = np.random.default_rng(3)
    found = delong([lone(rng.normal(0.3, 1, 100_000), rng.normal(0, 1, 100_000))])
    assert found.auroc == pytest.approx(norm.cdf(0.3 / np.sqrt(2)), abs=0.005)
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(1 / 6e5), rel=0.05)


def test_a_higher_level_is_wider():
    members, others = ranked(4)
    unit = [lone(members[0], others[0])]
    narrow, wide = delong(unit, 0.9), delong(unit, 0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("members", "others"), [([1], [0]), ([0], [1]), ([1], [1]), ([1, 1], [1, 1]), ([3, 4], [1, 2])]
)
def test_the_smallest_samples_get_an_honest_interval(members, others):
    found = delong([lone(members, others)])
    assert 0 <= found.low <= found.auroc <= found.high <= 1
    assert found.high - found.low > 0.8


def test_what_clients_differ_by_is_no_chance_where_the_models_are_given():
    rng = np.random.default_rng(5)
    units = clients(rng, 0.6, spread=0.15)
    given, drawn = delong(units), two_level_interval(units)
    assert given.auroc == pytest.approx(drawn.auroc)
    assert given.high - given.low < 0.8 * (drawn.high - drawn.low)
    difference = paired_delong(units, units)
    assert (difference.value, difference.p) == (0, 1)


def test_copies_of_one_item_are_one_item():
    rng = np.random.default_rng(6)
    members, others = rng.normal(0.5, 1, 40), rng.normal(0, 1, 40)
    once = delong([lone(members, others)])
    names = [[f"{side}{i}" for i in range(40)] for side in "mo"]
    twice = delong([Sample(members.repeat(2), np.repeat(names[0], 2), others.repeat(2), np.repeat(names[1], 2))])
    assert twice == pytest.approx(once, rel=1e-9)


def test_the_p_value_is_under_5_percent_exactly_where_the_interval_leaves_a_coin_out():
    rng, seen = np.random.default_rng(7), []
    for _ in range(100):
        found = delong([lone(rng.normal(0.25, 1, 100), rng.normal(0, 1, 100))])
        assert (found.p < 0.05) == (not found.low <= 0.5 <= found.high)
        seen.append(found.p < 0.05)
    assert 0 < sum(seen) < 100


def test_empty_sides_and_other_items_are_refused():
    with pytest.raises(ValueError, match="no unit has both"):
        delong([lone([], [1, 2])])
    with pytest.raises(ValueError, match="no unit has both"):
        paired_delong([lone([], [1, 2])], [lone([], [1, 2])])
    with pytest.raises(ValueError, match="different items"):
        paired_delong([lone([1], [1, 2])], [lone([1, 2], [1, 2])])
