"""Whom a client's draw favours, and whose draw it is."""

import numpy as np
import pytest

from fedrand.params import Key
from fedrand.randomness import stream
from fedrand.strategies import fedrand
from fedrand.strategy import Turn
from small_world import KEYS, halves

A, B = halves(KEYS, "A"), halves(KEYS, "B")


def shared(strategy, round, client="ann", keys=KEYS, seed=0):
    draw = stream(seed, "client", client, round)
    return strategy.sharing.split(keys, Turn(round, first=False), draw).shared


@pytest.mark.parametrize(("rho", "drawn"), [(1.0, A), (0.0, B)])
@pytest.mark.parametrize("draw", ["client", "layer"])
def test_a_certain_draw_is_the_same_in_every_round(rho, drawn, draw):
    assert all(shared(fedrand(rho=rho, draw=draw), round) == drawn for round in range(200))


@pytest.mark.parametrize("rho", [0.3, 0.5, 0.7])
def test_a_is_drawn_with_probability_rho(rho):
    share = np.mean([shared(fedrand(rho=rho), round) == A for round in range(2000)])
    assert abs(share - rho) < 4 * np.sqrt(rho * (1 - rho) / 2000)


def test_one_draw_holds_for_all_layers():
    assert {shared(fedrand(), round) for round in range(50)} == {A, B}


def test_a_draw_per_layer_mixes_the_factors_and_takes_one_of_each_layer():
    keys = frozenset(Key(f"layers.{i}", factor) for i in range(200) for factor in "AB")
    draws = [shared(fedrand(rho=0.3, draw="layer"), round, keys=keys) for round in range(50)]
    assert all(len(drawn) == len({key.layer for key in drawn}) == 200 for drawn in draws)
    share = np.mean([len(halves(drawn, "A")) / 200 for drawn in draws])
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 10_000)


def test_clients_draw_apart_and_a_seed_repeats_its_draws():
    rounds = range(200)
    ann, bob = ([shared(fedrand(), round, client) == A for round in rounds] for client in ("ann", "bob"))
    assert 70 <= sum(a == b for a, b in zip(ann, bob, strict=True)) <= 130
    assert ann == [shared(fedrand(), round, "ann") == A for round in rounds]
    assert ann != [shared(fedrand(), round, "ann", seed=1) == A for round in rounds]


@pytest.mark.parametrize("rho", [-0.1, 1.5, float("nan")])
def test_rho_outside_zero_to_one_is_refused(rho):
    with pytest.raises(ValueError, match=r"rho is .*; it is a probability"):
        fedrand(rho=rho)


def test_a_stream_depends_on_its_seed_and_name_alone():
    first = stream(0, "client", "c03", 7).integers(1_000_000, size=3).tolist()
    stream(0, "other").random(100)
    assert stream(0, "client", "c03", 7).integers(1_000_000, size=3).tolist() == first
    assert stream(0, "client", "c03", 8).integers(1_000_000, size=3).tolist() != first
    assert stream(0, "client", "c0", 37).integers(1_000_000, size=3).tolist() != first
    assert stream(1, "client", "c03", 7).integers(1_000_000, size=3).tolist() != first


def test_a_stream_gives_the_numbers_it_always_gave():
    """A change here breaks the resume of every run folder made before it."""
    assert stream(0, "client", "c03", 7).integers(1_000_000, size=3).tolist() == [976913, 947755, 945088]
