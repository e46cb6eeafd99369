"""Labels drawn anew, clusters whole: what a worthless attack would show."""

from itertools import combinations

import numpy as np
import pytest
from score_worlds import clients, groups, lone

from fedrand.audit.statistics import Sample, auroc, permuted, replicates


def test_the_chance_by_hand():
    # 3 members on top of 3: of the 20 ways to label, only this one and its mirror are as far from a coin.
    found = permuted([lone([4, 5, 6], [1, 2, 3])], np.random.default_rng(0), 20_000)
    assert found.auroc == 1.0
    assert found.p == pytest.approx(2 / 20, abs=0.01)


def test_permuted_aurocs_are_those_of_labels_that_moved():
    scores = np.array([1.0, 2, 2, 3, 5])
    allowed = {
        round(auroc(scores[list(chosen)], scores[[i for i in range(5) if i not in chosen]]), 9)
        for chosen in combinations(range(5), 2)
    }
    found = [permuted([lone(scores[:2], scores[2:])], np.random.default_rng(seed), 1).low for seed in range(200)]
    assert {round(value, 9) for value in found} == allowed


def test_p_is_never_zero():
    found = permuted([lone(range(100, 150), range(50))], np.random.default_rng(1), 99)
    assert found.p == 1 / 100


def test_p_is_uniform_when_nothing_leaks():
    rng = np.random.default_rng(2)
    found = np.array([permuted(clients(rng, 0.5, count=3), rng, 99).p for _ in range(300)])
    assert 0.02 <= np.mean(found <= 0.05) <= 0.09
    assert 0.42 <= np.mean(found <= 0.5) <= 0.58


def test_clusters_move_whole():
    # 40 copies of 4 things: were items permuted singly, such an AUROC would be out of reach.
    members, others = np.repeat([3.0, 4.0], 10), np.repeat([1.0, 2.0], 10)
    copies = Sample(members, ["a"] * 10 + ["b"] * 10, others, ["c"] * 10 + ["d"] * 10)
    apart = Sample(members, groups(20, "m"), others, groups(20, "o"))
    rng = np.random.default_rng(3)
    assert permuted([copies], rng, 999).p > 0.2
    assert permuted([apart], rng, 999).p < 0.05


def test_the_central_range_holds_a_coin():
    found = permuted(clients(np.random.default_rng(4), 0.7), np.random.default_rng(5))
    assert found.low < 0.5 < found.high < found.auroc


def test_a_group_on_both_sides_is_refused():
    both = Sample(np.array([1.0]), ["a"], np.array([0.0]), ["a"])
    with pytest.raises(ValueError, match="1 groups hold members and non-members"):
        permuted([both], np.random.default_rng(0))


def test_permutations_made_in_portions_are_the_same_ones(monkeypatch):
    data = clients(np.random.default_rng(4), 0.7)
    whole = permuted(data, np.random.default_rng(5))
    monkeypatch.setattr(replicates, "AT_ONCE", 1000)
    assert permuted(data, np.random.default_rng(5)) == whole
