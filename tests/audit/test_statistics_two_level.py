"""Intervals of the pooled AUROC, and of a difference, over clients: they cover their truth as often as they say."""

import numpy as np
import pytest
from score_worlds import client, clients, groups, lone, scores, shift_of

from fedrand.audit.statistics import Sample, delong, pooled, two_level_difference, two_level_interval

WORLDS = {  # AUROC, spread of the clients' true AUROCs, clients
    "alike": (0.5, 0.0, 12),
    "alike and leaking": (0.6, 0.0, 12),
    "differing": (0.6, 0.05, 12),
    "one": (0.6, 0.0, 1),
    "one that leaks nearly all": (0.93, 0.0, 1),
}


def coverage(world: str, times: int, seed: int = 0) -> float:
    truth, spread, count = WORLDS[world]
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(times):
        found = two_level_interval(clients(rng, truth, spread, count))
        hits += found.low <= truth <= found.high
    return hits / times


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_a_95_percent_interval_covers_95_percent_of_1000_audits(world):
    assert 0.93 <= coverage(world, 1000) <= 0.97


@pytest.mark.parametrize("world", WORLDS)
def test_an_interval_covers_its_truth_about_as_often_as_it_says(world):
    assert 0.90 <= coverage(world, 200) <= 0.99


@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_a_difference_of_equals_covers_zero_as_often_as_it_says(spread):
    rng, hits, small, times = np.random.default_rng(1), 0, 0, 200
    for _ in range(times):
        pairs = [two_scores(rng, *rng.normal(0.6, spread, 2)) for _ in range(12)]
        found = two_level_difference(*map(list, zip(*pairs, strict=True)))
        hits += found.low <= 0 <= found.high
        small += found.p < 0.05
    assert 0.90 <= hits / times <= 0.99
    assert small == times - hits


def two_scores(rng, first: float, second: float, count: int = 65) -> tuple[Sample, Sample]:
    """Two attacks on the same items that agree for the most part."""
    members, others = scores(rng, count), scores(rng, count)
    names = groups(count, "m"), groups(count, "o")
    made = [
        Sample(
            0.8 * members + 0.6 * scores(rng, count) + shift,
            names[0],
            0.8 * others + 0.6 * scores(rng, count),
            names[1],
        )
        for shift in (shift_of(first), shift_of(second))
    ]
    return made[0], made[1]


def test_clients_of_unequal_size_are_covered():
    rng, hits, times = np.random.default_rng(2), 0, 200
    for _ in range(times):
        units = [client(rng, rng.normal(0.6, 0.05), count) for count in (20, 30, 40, 50, 60, 65, 65, 70, 80, 100, 120)]
        found = two_level_interval(units)
        hits += found.low <= 0.6 <= found.high
    assert 0.90 <= hits / times <= 0.99


def test_pairing_narrows_a_difference_of_scores_that_agree():
    rng = np.random.default_rng(3)
    first, second = two_scores(rng, 0.6, 0.6, 400)
    unrelated = client(rng, 0.6, 400)
    paired, apart = two_level_difference([first], [second]), two_level_difference([first], [unrelated])
    assert paired.high - paired.low < 0.8 * (apart.high - apart.low)


def test_scores_of_different_items_are_not_compared():
    with pytest.raises(ValueError, match="different items"):
        two_level_difference([lone([1, 2], [0, 1])], [lone([1, 2, 3], [0, 1])])


def test_a_score_against_itself_differs_by_nothing_and_says_how_surely():
    unit = lone(range(20), range(20))
    found = two_level_difference([unit], [unit])
    assert (found.value, found.p) == (0.0, 1.0)
    assert -0.3 < found.low < 0 < found.high < 0.3


def test_swapped_labels_mirror_the_interval():
    units = clients(np.random.default_rng(4), 0.6, 0.05)
    swapped = [Sample(one.others, one.other_groups, one.members, one.member_groups) for one in units]
    found, mirrored = two_level_interval(units), two_level_interval(swapped)
    assert mirrored == pytest.approx((1 - found.auroc, 1 - found.high, 1 - found.low), abs=1e-12)


def test_copies_of_an_item_in_one_group_do_not_narrow_the_interval():
    rng = np.random.default_rng(3)
    members, others = rng.normal(0.3, 1, 40), rng.normal(0, 1, 40)
    names = [f"g{i}" for i in range(40)]
    once = Sample(members, names, others, names)
    copied = Sample(np.tile(members, 5), names * 5, np.tile(others, 5), names * 5)
    assert two_level_interval([copied]) == pytest.approx(two_level_interval([once]), rel=1e-9)


def test_a_pair_of_groups_that_move_together_widens_nothing_twice():
    # A group with a high member and a high non-member moves the AUROC little: its two sides cancel.
    rng = np.random.default_rng(5)
    shared = rng.normal(size=60)
    members, others = shared + 0.1 * rng.normal(size=60), shared + 0.1 * rng.normal(size=60)
    names, apart = [f"g{i}" for i in range(60)], [f"h{i}" for i in range(60)]
    tied = two_level_interval([Sample(members, names, others, names)])
    free = two_level_interval([Sample(members, names, others, apart)])
    assert tied.high - tied.low < 0.3 * (free.high - free.low)


def test_perfect_separation_is_as_sure_as_its_number_of_independent_pairs():
    # 20 pairs, all won: the exact bound of Clopper and Pearson is (0.025) ** (1 / 20).
    found = two_level_interval([lone(range(100, 120), range(30))])
    assert found == pytest.approx((1.0, 0.025 ** (1 / 20), 1.0))
    mirrored = two_level_interval([lone(range(30), range(100, 120))])
    assert mirrored == pytest.approx((0.0, 0.0, 1 - 0.025 ** (1 / 20)))


def test_scores_that_are_all_equal_are_no_proof_of_a_coin():
    found = two_level_interval([lone(np.ones(20), np.ones(20))])
    assert found.auroc == 0.5
    assert 0.4 < found.low < 0.5 < found.high < 0.6


@pytest.mark.parametrize("members", [[0.5], [9.0], [-9.0]])
def test_a_single_member_says_next_to_nothing(members):
    found = two_level_interval([lone(members, [0.1, 0.2, 0.7, 0.9])])
    assert np.isfinite(found).all()
    assert found.high - found.low > 0.9


def test_two_members_are_as_unsure_as_two_are_however_many_the_others():
    found = two_level_interval([lone([0.4, 0.6], np.linspace(0, 1, 1000))])
    assert found.high - found.low > 0.9  # Student's t with one degree of freedom; the normal would say 0.37


def test_a_unit_without_members_is_left_out_and_none_is_an_error():
    units = clients(np.random.default_rng(6), 0.6)
    assert two_level_interval([*units, lone([], [1.0])]) == two_level_interval(units)
    with pytest.raises(ValueError, match="no unit"):
        two_level_interval([lone([], [1.0])])


def test_the_estimate_is_the_pooled_one():
    units = clients(np.random.default_rng(7), 0.6)
    assert two_level_interval(units).auroc == pytest.approx(pooled(units), abs=1e-12)


def test_one_client_of_lone_items_is_near_delong():
    rng = np.random.default_rng(8)
    one = [lone(rng.normal(0.5, 1, 2000), rng.normal(0, 1, 2000))]
    assert two_level_interval(one) == pytest.approx(delong(one)[:3], abs=1e-4)
