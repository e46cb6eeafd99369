"""Canaries: a fair coin before training, the same pictures ever after, and guesses that are counted rightly."""

import numpy as np
import pytest

from fedrand.audit.canaries import Guesses, epsilon, guess
from fedrand.data.canaries import canaries, canaries_of, ordinary, planted
from fedrand.data.example import Example
from fedrand.dealing import ClientData

POOL = tuple(Example(f"e{i}", None, "coco", f"a cat number{i}", ()) for i in range(9))
CLIENTS = {name: ClientData(POOL[i : i + 2], POOL[i + 2 : i + 3]) for i, name in ((0, "c0"), (3, "c1"), (6, "c2"))}


def plant(count: int, seed: int = 0):
    return planted(CLIENTS, POOL, count, seed, "coco")


def test_every_canary_is_put_in_or_kept_out_of_one_client_and_the_others_stay():
    made = plant(31)
    ids = [e.id for data in made.values() for side in data for e in canaries_of(side)]
    assert sorted(ids) == [f"canary-{i:04d}" for i in range(31)]
    counts = [sum(len(canaries_of(side)) for side in data) for data in made.values()]
    assert sorted(counts) == [10, 10, 11]
    for name, data in made.items():
        assert isinstance(data, ClientData) and ClientData(*map(ordinary, data)) == CLIENTS[name]


def test_the_coin_is_fair_and_follows_the_seed():
    inside = [sum(len(canaries_of(data.members)) for data in plant(100, seed).values()) for seed in range(40)]
    assert np.mean(inside) == pytest.approx(50, abs=3) and np.std(inside) == pytest.approx(5, abs=2.5)
    assert plant(100, 3) == plant(100, 3) != plant(100, 4)


def test_a_canarys_picture_and_caption_are_its_own_and_the_same_again():
    made, again = (canaries(12, 5, "coco", ["a", "b", "c", "d"]) for _ in range(2))
    pixels = [np.asarray(one.image.load()) for one in made]
    assert all(one.shape == (64, 64, 3) for one in pixels)
    assert len({one.tobytes() for one in pixels}) == len({one.image.key for one in made}) == 12
    assert [one.tobytes() for one in pixels] == [np.asarray(one.image.load()).tobytes() for one in again]
    assert len({one.answer for one in made}) > 10 and all(len(one.answer.split()) == 6 for one in made)
    made[0].image.check()


def test_guesses_are_counted_by_hand():
    rng = np.random.default_rng(0)
    inside, outside = np.array([5.0, 4.0, 1.0]), np.array([4.5, 0.0, -1.0])
    # order: 5 in, 4.5 out, 4 in | 1 in, 0 out, -1 out
    assert guess(inside, outside, 2, 2, rng) == Guesses(6, 4, 3)
    assert guess(inside, outside, 3, 3, rng) == Guesses(6, 6, 4)
    assert guess(inside, outside, 1, 0, rng) == Guesses(6, 1, 1)
    assert guess(inside, outside, 0, 0, rng) == Guesses(6, 0, 0)


def test_equal_scores_are_guessed_at_random():
    rng = np.random.default_rng(1)
    right = [guess(np.zeros(50), np.zeros(50), 25, 25, rng).correct for _ in range(200)]
    assert np.mean(right) == pytest.approx(25, abs=1)


def test_more_guesses_than_canaries_and_nan_are_errors():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="make fewer"):
        guess(np.zeros(2), np.zeros(2), 3, 2, rng)
    with pytest.raises(ValueError, match="NaN"):
        guess(np.array([np.nan]), np.zeros(2), 1, 1, rng)


def test_the_bound_is_asked_for_these_guesses():
    assert epsilon(Guesses(100, 50, 40), lambda *asked: asked, 1e-5, 0.9) == (100, 50, 40, 1e-5, 0.9)
