"""Means, intervals and paired differences over seeds, against numbers computed by hand."""

import pytest

from fedrand.reproduce.cells import cell, difference


def test_a_cell_of_1_2_3_has_mean_2_and_the_half_width_of_students_t():
    found = cell([1.0, 2.0, 3.0])
    assert (found.mean, found.std, found.n) == (2.0, 1.0, 3)
    assert found.half == pytest.approx(4.302653 / 3**0.5, abs=1e-6)


def test_one_seed_has_no_interval_and_resolves_nothing():
    found = cell([5.0])
    assert (found.mean, found.std, found.half, found.resolved) == (5.0, None, None, False)
    assert found.text() == "5.00"


def test_a_difference_is_paired_by_seed_and_forgets_seeds_that_one_side_lacks():
    own, other = {0: 10.0, 1: 21.0, 2: 33.0, 7: 99.0}, {0: 9.0, 1: 19.0, 2: 32.0, 8: 0.0}
    found = difference(own, other)
    assert found is not None
    assert found.mean == pytest.approx(4 / 3)
    assert found.n == 3
    assert difference({0: 1.0}, {1: 1.0}) is None


def test_a_difference_whose_interval_holds_zero_is_not_resolved():
    assert not cell([1.0, -1.0, 0.5]).resolved
    assert cell([1.0, 1.1, 0.9]).resolved
    assert cell([-1.0, -1.1, -0.9]).resolved
