"""Dealing examples to clients: complete, disjoint, groups whole, bounded."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrand.data import DataError, Partition, by_client, by_label, dirichlet, iid, load_emoji
from fedrand.randomness import stream

LABELS = [f"label{i % 5}" for i in range(600)]


def assert_complete(parts: Partition, count: int) -> None:
    assert sorted(np.concatenate(parts).tolist()) == list(range(count))
    assert all((np.diff(part) > 0).all() for part in parts)


@settings(max_examples=30, deadline=None)
@given(alpha=st.floats(0.3, 100), clients=st.integers(1, 12), seed=st.integers(0, 99), width=st.integers(1, 4))
def test_a_dirichlet_split_is_complete_disjoint_and_keeps_groups_whole(alpha, clients, seed, width):
    groups = [str(i // width) for i in range(len(LABELS))]
    parts = dirichlet(LABELS, clients, alpha, stream(seed), groups=groups, min_size=5)
    assert len(parts) == clients and min(map(len, parts)) >= 5
    assert_complete(parts, len(LABELS))
    held = [{groups[i] for i in part} for part in parts]
    assert sum(map(len, held)) == len(set(groups))


def test_the_same_seed_gives_the_same_split_and_another_seed_another():
    first, again, other = (dirichlet(LABELS, 4, 0.5, stream(seed)) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_without_groups_the_draw_is_fedmls():
    """Against FedML's loop written out, fed the same random numbers."""
    rng, clients, labels = stream(5), 3, np.array(LABELS)
    held = [[] for _ in range(clients)]
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        shares = rng.dirichlet(np.repeat(1.0, clients))
        shares = np.array([p * (len(own) < len(labels) / clients) for p, own in zip(shares, held, strict=True)])
        cuts = (np.cumsum(shares / shares.sum()) * len(members)).astype(int)[:-1]
        held = [own + part.tolist() for own, part in zip(held, np.split(members, cuts), strict=True)]
    parts = dirichlet(LABELS, clients, 1.0, stream(5), min_size=0)
    assert [part.tolist() for part in parts] == [sorted(own) for own in held]


def skew(parts: Partition, labels: list[str]) -> float:
    """Mean total variation between a client's labels and everybody's."""
    names = sorted(set(labels))
    everyone = np.array([labels.count(name) for name in names]) / len(labels)
    counts = [np.array([sum(labels[i] == name for i in part) for name in names]) for part in parts]
    return float(np.mean([abs(c / c.sum() - everyone).sum() / 2 for c in counts]))


def test_a_smaller_alpha_skews_more():
    skews = [skew(dirichlet(LABELS, 6, a, stream(3), min_size=5), LABELS) for a in (0.1, 1.0, 1000.0)]
    assert all(more > less for more, less in pairwise(skews)) and skews[-1] < 0.05


def test_the_paper_s_setting_on_the_emoji_pool_is_skewed_and_leaves_nobody_below_the_minimum():
    pool = load_emoji()["federated"]
    labels = [e.label for e in pool]
    parts = dirichlet(labels, 12, 0.5, stream(0), groups=[e.unit for e in pool])
    assert_complete(parts, len(pool))
    assert min(map(len, parts)) >= 10
    assert 0.3 < skew(parts, labels) < 0.7


def test_a_split_that_cannot_meet_the_minimum_fails_before_drawing():
    with pytest.raises(DataError, match=r"600 examples cannot give 100 clients 10 each; at most data\.clients = 60"):
        dirichlet(LABELS, 100, 0.5, stream(0))


def test_a_hopeless_alpha_ends_after_bounded_tries_and_says_what_would_work():
    with pytest.raises(DataError, match=r"20 draws .* raise alpha \(now 0.001\).*lower min_size to"):
        dirichlet(LABELS, 50, 0.001, stream(0), max_tries=20)


@pytest.mark.parametrize("seed", range(5))
def test_an_extreme_alpha_still_deals_every_example(seed: int):
    assert_complete(dirichlet(LABELS, 3, 1e-6, stream(seed), min_size=0), len(LABELS))


def test_a_missing_label_is_counted_and_the_remedy_named():
    with pytest.raises(DataError, match=r"2 of 4 examples have no label.*fill the column 'label'"):
        dirichlet(["a", "", "b", ""], 2, 0.5, stream(0), min_size=1)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_alpha_must_be_a_positive_number(alpha: float):
    with pytest.raises(DataError, match="alpha must be a finite number above 0"):
        dirichlet(LABELS, 2, alpha, stream(0))


def test_no_clients_is_an_error():
    with pytest.raises(DataError, match="cannot deal to 0 clients"):
        dirichlet(LABELS, 0, 0.5, stream(0))
    with pytest.raises(DataError, match="3 groups cannot be dealt to 0 clients"):
        iid(["a", "b", "c"], 0, stream(0))


@settings(max_examples=30, deadline=None)
@given(clients=st.integers(1, 5), seed=st.integers(0, 99), width=st.sampled_from([1, 2, 4]))
def test_a_split_by_label_gives_each_class_to_one_client_whole(clients, seed, width):
    labels, groups = [f"label{i % 20 // 4}" for i in range(600)], [str(i // width) for i in range(600)]
    parts = by_label(labels, clients, stream(seed), groups=groups)
    assert_complete(parts, 600)
    held = [{labels[i] for i in part} for part in parts]
    assert sum(map(len, held)) == 5 and min(map(len, held)) >= 1


def test_the_same_seed_gives_each_client_the_same_classes_and_another_seed_others():
    first, again, other = (by_label(LABELS, 3, stream(seed)) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_classes_are_dealt_anew_until_nobody_is_below_the_minimum():
    """Of labels with 30, 30, 1, 1 examples only the draws that part small from small give both clients 31."""
    labels = ["a"] * 30 + ["b"] * 30 + ["c", "d"]
    for seed in range(10):
        assert [len(part) for part in by_label(labels, 2, stream(seed), min_size=31)] == [31, 31]


def test_more_clients_than_classes_is_an_error_that_says_what_would_work():
    with pytest.raises(DataError, match=r'5 classes cannot give 6 clients one each; take at most 5 .*"dirichlet"'):
        by_label(LABELS, 6, stream(0))


def test_classes_too_small_for_everybody_end_after_bounded_tries():
    labels = ["a"] * 50 + ["b"] * 3
    with pytest.raises(DataError, match=r"20 draws .*below 10 examples \(at best 3\).*lower min_size to 3"):
        by_label(labels, 2, stream(0), max_tries=20)


def test_an_iid_split_is_even_complete_and_keeps_groups_whole():
    groups = [str(i // 2) for i in range(40)]
    parts = iid(groups, 5, stream(0))
    assert_complete(parts, 40)
    assert [len(part) for part in parts] == [8] * 5
    assert all(len({groups[i] for i in part}) == 4 for part in parts)


def test_more_clients_than_groups_is_an_error():
    with pytest.raises(DataError, match="2 groups cannot be dealt to 3 clients; ask for 1 to 2"):
        iid(["a", "a", "b"], 3, stream(0))


def test_named_clients_come_in_alphabetical_order():
    parts = by_client(["south", "north", "south"])
    assert [part.tolist() for part in parts] == [[1], [0, 2]]


def test_an_example_without_a_client_is_an_error():
    with pytest.raises(DataError, match="1 of 2 examples name no client; fill the column 'client'"):
        by_client(["north", ""])


def test_too_few_examples_for_any_bound_ask_for_more_data():
    with pytest.raises(DataError, match=r"1 examples cannot give 12 clients 10 each; raise data\.limit or add data"):
        dirichlet(["a"], 12, 0.5, np.random.default_rng(0))
