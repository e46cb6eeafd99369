"""Intervals of many attacks hold together, and attacks that agree cost little."""

import numpy as np
import pytest
from scipy.stats import norm
from score_worlds import client, clients, groups, lone, scores

from fedrand.audit.statistics import Sample, family, two_level_interval

NORMAL = norm.ppf(0.975)


def attacks(rng, agreement: float, count: int, units: int = 6) -> dict[str, dict[str, Sample]]:
    """Worthless attacks on the same items of the same clients, correlated by `agreement`."""
    shared = [(scores(rng, 65), scores(rng, 65)) for _ in range(units)]
    own = np.sqrt(1 - agreement**2)
    return {
        f"attack {number}": {
            f"client {name}": Sample(
                agreement * members + own * scores(rng, 65),
                groups(65, "m"),
                agreement * others + own * scores(rng, 65),
                groups(65, "o"),
            )
            for name, (members, others) in enumerate(shared)
        }
        for number in range(count)
    }


def test_one_attack_pays_nothing():
    rng = np.random.default_rng(0)
    rows = {"loss": {"a": client(rng, 0.6), "b": client(rng, 0.6)}}
    found = family(rows, rng)
    assert found.critical == pytest.approx(NORMAL, abs=0.05)
    assert found.intervals["loss"] == pytest.approx(two_level_interval([*rows["loss"].values()], found.single))


def test_attacks_that_agree_cost_little_and_strangers_what_sidak_says():
    rng = np.random.default_rng(1)
    same, alike, strangers = (family(attacks(rng, agreement, 10), rng).critical for agreement in (1.0, 0.95, 0.0))
    sidak = norm.ppf((1 + 0.95 ** (1 / 10)) / 2)
    assert same == pytest.approx(NORMAL, abs=0.05)
    assert same < alike < strangers
    assert strangers == pytest.approx(sidak, abs=0.08)


@pytest.mark.parametrize("agreement", [0.0, 0.8])
def test_the_best_of_many_worthless_attacks_is_found_out(agreement):
    rng, single, together, times = np.random.default_rng(2), 0, 0, 60
    for _ in range(times):
        rows = attacks(rng, agreement, 8, 4)
        found = family(rows, rng, resamples=1000)
        together += all(one.low <= 0.5 <= one.high for one in found.intervals.values())
        alone = [two_level_interval([*row.values()]) for row in rows.values()]
        single += all(one.low <= 0.5 <= one.high for one in alone)
    assert together / times >= 0.90
    assert single < together


def test_rows_may_have_clients_of_their_own():
    rng = np.random.default_rng(3)
    units = {f"c{number}": unit for number, unit in enumerate(clients(rng, 0.6, count=4))}
    found = family({"all": units, "two": {name: units[name] for name in ("c0", "c3")}}, rng)
    assert NORMAL < found.critical < 2.4
    assert found.intervals["two"].high - found.intervals["two"].low > 0


def test_a_row_that_never_varies_adds_nothing_and_is_not_certain():
    rng = np.random.default_rng(4)
    rows = {"flat": {"a": lone(np.ones(30), np.ones(30))}, "loss": {"a": client(rng, 0.6)}}
    found = family(rows, rng)
    assert found.critical == pytest.approx(NORMAL, abs=0.05)
    assert found.intervals["flat"].low < 0.5 < found.intervals["flat"].high


def test_a_family_of_rows_that_never_vary_costs_what_one_attack_does():
    found = family({"flat": {"a": lone(np.ones(30), np.ones(30))}}, np.random.default_rng(5))
    assert found.critical == pytest.approx(NORMAL, abs=0.05)


def test_no_row_and_a_row_without_clients_are_errors():
    with pytest.raises(ValueError, match="at least one row"):
        family({}, np.random.default_rng(0))
    with pytest.raises(ValueError, match="loss: no unit"):
        family({"loss": {"a": lone([], [1.0])}}, np.random.default_rng(0))
