"""What an audit of a size can see, and when it may say that there is no leak."""

import numpy as np
import pytest
from score_worlds import client, clients, lone, shift_of

from fedrand.audit.statistics import detectable, equivalent, planned, two_level_interval


@pytest.mark.parametrize(
    ("count", "half_width", "least"),
    [(300, 0.046, 0.566), (1000, 0.025, 0.536), (3000, 0.015, 0.521), (10_000, 0.008, 0.511)],
)
def test_the_table_of_sizes(count, half_width, least):
    found = planned([(count, count)])
    assert (round(found.half_width, 3), round(found.detectable, 3)) == (half_width, least)


def test_units_of_one_size_are_worth_as_much_as_so_many_independent_audits():
    alone, four = planned([(50, 50)]), planned([(50, 50)] * 4)
    assert four.half_width == pytest.approx(alone.half_width / 2)
    assert planned([(300, 300), (1, 1)]).detectable == pytest.approx(planned([(300, 300)]).detectable, abs=1e-4)


def test_scores_without_a_leak_detect_what_was_planned():
    rng = np.random.default_rng(0)
    unit = lone(rng.normal(size=1000), rng.normal(size=1000))
    assert detectable([unit]) == pytest.approx(planned([(1000, 1000)]).detectable, abs=0.001)


def test_a_leak_of_the_detectable_size_is_detected_in_80_percent():
    rng = np.random.default_rng(1)
    least = planned([(200, 200)]).detectable
    seen = 0
    for _ in range(300):
        seen += two_level_interval([lone(rng.normal(shift_of(least), 1, 200), rng.normal(size=200))]).low > 0.5
    assert 0.72 <= seen / 300 <= 0.88


def test_copies_do_not_make_an_audit_see_more():
    rng = np.random.default_rng(2)
    unit = client(rng, 0.5)
    assert detectable([unit]) > planned([(65, 65)]).detectable


def test_no_leak_is_said_only_within_the_margin():
    rng = np.random.default_rng(3)
    none = [lone(rng.normal(size=2000), rng.normal(size=2000))]
    assert equivalent(none, 0.05).equivalent
    assert not equivalent(none, 0.005).equivalent
    assert not equivalent(clients(rng, 0.65), 0.05).equivalent
    assert not equivalent([lone(rng.normal(size=30), rng.normal(size=30))], 0.05).equivalent


def test_a_leak_at_the_margin_is_called_none_in_5_percent_at_most():
    rng, said = np.random.default_rng(4), 0
    for _ in range(300):
        said += equivalent([client(rng, 0.6, 400)], 0.1).equivalent
    assert said / 300 <= 0.08


def test_its_interval_is_the_one_at_90_percent():
    units = clients(np.random.default_rng(5), 0.5)
    assert equivalent(units, 0.1)[2:] == pytest.approx(two_level_interval(units, 0.9)[1:])


def test_a_margin_that_calls_everything_equal_and_empty_sides_are_refused():
    with pytest.raises(ValueError, match="between 0 and"):
        equivalent([lone([1], [0])], 0.5)
    with pytest.raises(ValueError, match="there are \\[\\(0, 5\\)\\]"):
        planned([(0, 5)])
