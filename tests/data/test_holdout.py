"""Members and held-out examples."""

import numpy as np
import pytest

from fedrand.data import DataError, Example, hold_out, load_emoji
from fedrand.randomness import stream


def examples(groups: list[str]) -> list[Example]:
    return [
        Example(id=f"e{i}", image=None, prompt="coco", answer="x", references=("x",), group=group)
        for i, group in enumerate(groups)
    ]


def test_every_example_is_on_one_side_and_groups_stay_together():
    pool = load_emoji()["federated"]
    members, held_out = hold_out(pool, stream(0))
    assert sorted(e.id for e in (*members, *held_out)) == sorted(e.id for e in pool)
    assert not {e.group for e in members} & {e.group for e in held_out}
    assert 0.4 < len(members) / len(pool) < 0.6


def test_the_same_seed_gives_the_same_sides_whatever_the_order_of_the_examples():
    pool = examples([str(i // 2) for i in range(60)])
    first, again = hold_out(pool, stream(1)), hold_out(pool[::-1], stream(1))
    assert {e.id for e in first.members} == {e.id for e in again.members}
    assert {e.id for e in first.members} != {e.id for e in hold_out(pool, stream(2)).members}


def test_the_coins_of_two_groups_are_independent():
    """Alternation would always part neighbours; independent coins part them half of the time."""
    pool = examples([f"{i:02d}" for i in range(20)])
    parted = [len({e.id for e in hold_out(pool, stream(seed)).members} & {"e0", "e1"}) == 1 for seed in range(400)]
    assert abs(np.mean(parted) - 0.5) < 0.1


def test_examples_without_a_group_are_groups_of_their_own():
    members, held_out = hold_out(examples([""] * 40), stream(0))
    assert members and held_out


@pytest.mark.parametrize("seed", range(20))
def test_no_side_is_empty_when_there_are_two_groups(seed: int):
    members, held_out = hold_out(examples(["a", "a", "b"]), stream(seed))
    assert members and held_out


def test_one_group_cannot_be_split():
    with pytest.raises(DataError, match=r"1 group of examples cannot be split.*at least two groups"):
        hold_out(examples(["a", "a"]), stream(0))
