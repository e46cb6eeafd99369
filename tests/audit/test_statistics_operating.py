"""True-positive rates at low false-positive rates: the known rate, a threshold of their own, and refusals."""

import numpy as np
import pytest
from scipy.stats import norm
from score_worlds import client, clients, lone

from fedrand.audit.statistics import Rate, Refused, roc, tpr


def known(fpr, shift):
    return 1 - norm.cdf(norm.ppf(1 - fpr) - shift)


def normal(rng, count: int, shift: float = 1.0):
    return lone(rng.normal(shift, 1, count), rng.normal(0, 1, count))


def test_shifted_gaussians_give_the_known_rate():
    rng = np.random.default_rng(0)
    unit = normal(rng, 100_000)
    for fpr in (0.001, 0.01, 0.05):
        found = tpr([unit], fpr, rng, resamples=20)
        assert isinstance(found, Rate)
        assert found.value == pytest.approx(known(fpr, 1.0), rel=0.1)


def test_the_rate_by_hand_with_ties_at_the_threshold():
    # 200 non-members, 5% are 10 false positives: the 11th highest, 189, is the threshold, and 189 itself is not above it.
    found = tpr([lone([500, 190, 189, 188], range(200))], 0.05, np.random.default_rng(1))
    assert isinstance(found, Rate)
    assert found.value == 0.5


@pytest.mark.parametrize(("fpr", "count"), [(0.05, 400), (0.1, 200), (0.01, 1000)])
def test_an_interval_covers_the_known_rate(fpr, count):
    rng, hits, times = np.random.default_rng(2), 0, 150
    for _ in range(times):
        found = tpr([normal(rng, count)], fpr, rng, resamples=100)
        assert isinstance(found, Rate)
        hits += found.low <= known(fpr, 1.0) <= found.high
    assert 0.90 <= hits / times <= 1.0


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_an_interval_covers_the_known_rate_over_clients(spread):
    rng, hits, times = np.random.default_rng(3), 0, 60
    truth = 1 - norm.cdf((norm.ppf(0.95) - 1) / np.sqrt(1 + spread**2))
    for _ in range(times):
        found = tpr([client(rng, norm.cdf(rng.normal(1, spread) / np.sqrt(2))) for _ in range(12)], 0.05, rng, 100)
        assert isinstance(found, Rate)
        hits += found.low <= truth <= found.high
    assert 0.90 <= hits / times <= 1.0


def test_the_threshold_is_as_unsure_as_the_members():
    # All members lie in the thin space where the threshold wanders: a threshold that stayed would make the rate certain.
    rng = np.random.default_rng(4)
    found = tpr([lone(rng.normal(norm.ppf(0.95), 0.01, 2000), rng.normal(0, 1, 400))], 0.05, rng)
    assert isinstance(found, Rate)
    assert found.high - found.low > 0.5


def test_too_few_false_positives_are_refused_with_what_is_needed():
    rng = np.random.default_rng(5)
    found = tpr([normal(rng, 780)], 0.01, rng)
    assert found == Refused("780 non-members, it takes 1000")
    assert isinstance(tpr([normal(rng, 1000)], 0.01, rng, 10), Rate)
    assert isinstance(tpr([normal(rng, 999)], 0.01, rng, 10), Refused)


@pytest.mark.parametrize(("shift", "value"), [(-100.0, 0.0), (100.0, 1.0)])
def test_a_rate_of_none_or_all_is_not_certain(shift, value):
    rng = np.random.default_rng(6)
    found = tpr([normal(rng, 200, shift)], 0.05, rng, 50)
    assert isinstance(found, Rate)
    assert found.value == value
    assert found.high - found.low == pytest.approx(1 - 0.025 ** (1 / 200))  # Clopper and Pearson for 0 of 200


def test_the_curve_starts_at_one_false_positive_and_rises_within_its_band():
    rng = np.random.default_rng(7)
    units = clients(rng, 0.7)
    curve = roc(units, rng, resamples=100)
    assert curve.fpr[0] == 1 / (12 * 65)
    assert 40 <= len(curve.fpr) <= 60
    assert (np.diff(curve.fpr) > 0).all()
    assert (np.diff(curve.tpr) >= 0).all()
    assert ((curve.low <= curve.tpr) & (curve.tpr <= curve.high)).all()


def test_the_curve_passes_through_the_rate():
    rng = np.random.default_rng(8)
    unit = normal(rng, 1000)
    curve = roc([unit], rng, resamples=10, points=2000)
    found = tpr([unit], 0.05, rng, 10)
    assert isinstance(found, Rate)
    assert curve.tpr[np.argmin(np.abs(curve.fpr - 0.05))] == found.value


def test_no_unit_with_both_sides_is_an_error():
    with pytest.raises(ValueError, match="no unit"):
        tpr([lone([], [1.0])], 0.05, np.random.default_rng(0))
