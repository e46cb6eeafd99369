"""The one-run bound gives the known values, and is never raised by canaries that nobody can tell."""

from types import SimpleNamespace

import numpy as np
import pytest

from fedrand.audit.planted import proven
from fedrand.audit.statistics import epsilon_bound, one_run

KNOWN = {  # canaries, guesses, correct, delta
    (1000, 100, 100, 0): 3.49297,
    (1000, 100, 90, 0): 1.63082,
    (1000, 100, 90, 1e-5): 1.62614,
    (1000, 100, 75, 0): 0.70221,
    (1000, 1000, 600, 0): 0.29747,
    (100, 20, 20, 1e-3): 1.47628,
}


@pytest.mark.parametrize("case", KNOWN)
def test_the_bound_of_known_cases(case):
    assert epsilon_bound(*case) == pytest.approx(KNOWN[case], abs=1e-5)


@pytest.mark.parametrize("correct", [0, 1, 50, 58])
def test_what_a_coin_could_guess_bounds_nothing(correct):
    assert epsilon_bound(1000, 100, correct) == 0.0


def test_a_delta_of_one_in_a_few_canaries_explains_everything():
    assert epsilon_bound(1000, 100, 100, 0.5) == 0.0


def test_the_bound_holds_for_randomised_response_in_95_percent_of_runs():
    rng, epsilon = np.random.default_rng(0), 1.0
    truthful = np.exp(epsilon) / (1 + np.exp(epsilon))
    bounds = [epsilon_bound(200, 200, int(rng.binomial(200, truthful))) for _ in range(1000)]
    assert np.mean(np.array(bounds) <= epsilon) >= 0.95 - 0.015
    assert np.median(bounds) > 0.6


def test_the_surest_are_guessed_and_the_middle_is_skipped():
    scores = np.array([9.0, 8.0, 5.0, 5.1, 1.0, 0.0])
    included = np.array([True, True, False, False, False, True])
    found = one_run(scores, included, guesses=4)
    assert (found.guesses, found.correct, found.low) == (4, 3, 0.0)


def test_canaries_that_show_in_their_scores_bound_epsilon():
    rng = np.random.default_rng(1)
    included = rng.random(400) < 0.5
    assert one_run(rng.normal(size=400) + 4 * included, included, 100).low == pytest.approx(3.49297, abs=1e-5)
    assert one_run(rng.normal(size=400), included, 100).low == 0.0


@pytest.mark.parametrize("guesses", [0, 3, 8])
def test_guesses_that_cannot_be_dealt_out_are_refused(guesses):
    with pytest.raises(ValueError, match="even and from 2 to the 6"):
        one_run(np.arange(6.0), np.ones(6, bool), guesses)


def test_input_that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        one_run(np.array([np.nan, 1]), np.ones(2, bool), 2)
    with pytest.raises(ValueError, match="2 scores but 3 coins"):
        one_run(np.ones(2), np.ones(3, bool), 2)
    with pytest.raises(ValueError, match="correct <= guesses"):
        epsilon_bound(100, 10, 11)


def test_one_canary_proves_no_bound_and_is_no_error():
    """As where the others lie with clients that never took part."""
    bench = SimpleNamespace(canaries={"a": ([SimpleNamespace(id="canary-0000")], [])}, how=SimpleNamespace(level=0.95))
    found = proven(SimpleNamespace(bench=bench, reference=lambda *asked: 0.0), {})
    assert (found["canaries"], found["epsilon"]) == (1, [])
