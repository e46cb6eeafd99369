"""Rounds in one process: who is asked, what happens when clients fail, and the same bits again."""

import copy
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from fedrand.federation import Federation, Memory, TooFewClients, initial_server, select_clients
from fedrand.messages import ClientState, Upload
from fedrand.params import identical
from fedrand.round import ClientError
from fedrand.strategies import fedavg, fedrand
from small_world import KEYS, Adder, constant, halves

NAMES = ("ann", "bob", "cat", "dan", "eve", "fay")


class Broken(Adder):
    def train(self, start, trained, rng, proximal):
        self.starts.append(start)
        raise ClientError("the loss is NaN in step 3")


def federation(strategy=None, learners=None, clients_per_round=4, **options):
    learners = learners or {name: Adder(i + 0.1, i + 1) for i, name in enumerate(NAMES)}
    return Federation(strategy or fedrand(), learners, clients_per_round, seed=options.pop("seed", 0), **options)


def server(seed=0):
    return initial_server(Adder(), seed)


# --- who is asked -------------------------------------------------------------------------------------------------


def test_every_set_of_clients_is_as_likely_as_any_other():
    drawn = Counter(select_clients(NAMES[:4], 2, round, seed=0) for round in range(6000))
    assert set(drawn) == set(permutations(NAMES[:4], 2))  # and every order, which a stratified draw goes by
    assert all(abs(count - 500) < 4 * np.sqrt(6000 * 1 / 12 * 11 / 12) for count in drawn.values())


def test_the_draw_depends_on_seed_round_and_attempt_and_not_on_the_order_of_names():
    def ten(seed=0, attempt=0, names=NAMES):
        return [select_clients(names, 3, round, seed, attempt) for round in range(10)]

    assert ten() == ten(names=NAMES[::-1])
    assert ten() != ten(seed=1)
    assert ten() != ten(attempt=1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"clients_per_round": 7}, "clients_per_round is 7; choose from 1 to 6"),
        ({"clients_per_round": 0}, "clients_per_round is 0; choose from 1 to 6"),
        ({"clients_per_round": 3, "min_clients": 4}, "min_clients is 4; choose from 1 to 3"),
        ({"clients_per_round": 3, "min_clients": 0}, "min_clients is 0; choose from 1 to 3"),
    ],
)
def test_a_number_of_clients_that_cannot_be_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        federation(**options)


# --- rounds -------------------------------------------------------------------------------------------------------


def test_the_first_adapter_has_a_random_and_b_zero():
    params = server().params
    assert all(np.ptp(params[key]) > 0 for key in halves(KEYS, "A"))
    assert all((params[key] == 0).all() for key in halves(KEYS, "B"))
    assert identical(params, server().params)
    assert not identical(params, server(seed=1).params)


def test_a_round_is_handed_over_before_the_next_one_starts():
    world = federation()
    rounds = world.rounds(server(), Memory(), until=5)
    first = next(rounds)
    assert sum(len(learner.starts) for learner in world.learners.values()) == 4
    assert [first.before.round, first.after.round] == [0, 1]
    assert [done.before.round for done in rounds] == [1, 2, 3, 4]


def test_a_server_that_is_there_already_plays_no_round():
    done = list(federation().rounds(server(), Memory(), until=3))[-1]
    assert list(federation().rounds(done.after, Memory(), until=3)) == []


def test_clients_of_one_round_draw_apart():
    rounds = list(federation(clients_per_round=6).rounds(server(), Memory(), until=5))
    assert any(len({outcome.split.shared for outcome in done.outcomes}) == 2 for done in rounds)


def test_the_same_seed_gives_the_same_bits_and_another_one_others():
    def final(seed):
        return list(federation(seed=seed).rounds(server(), Memory(), until=6))[-1].after.params

    assert identical(final(0), final(0))
    assert not identical(final(0), final(1))


@pytest.mark.parametrize("killed_after", range(1, 6))
def test_a_run_that_goes_on_from_any_round_ends_at_the_same_bits(killed_after):
    whole = list(federation().rounds(server(), Memory(), until=6))
    shelf = Memory()
    begun = list(federation().rounds(server(), shelf, until=killed_after))
    rest = list(federation().rounds(begun[-1].after, copy.deepcopy(shelf), until=6))
    assert identical(rest[-1].after.params, whole[-1].after.params)


def test_a_round_that_is_played_again_starts_where_it_started():
    """The clients of a round that was cut off have saved already; their older state is taken."""
    shelf = Memory()
    rounds = federation().rounds(server(), shelf, until=4)
    before = [next(rounds) for _ in range(3)][-1].after
    cut_off = next(rounds)
    again = next(federation().rounds(before, shelf, until=4))
    assert identical(again.after.params, cut_off.after.params)
    for first, second in zip(cut_off.outcomes, again.outcomes, strict=True):
        assert identical(first.state.local, second.state.local)
        assert first.state.rounds == second.state.rounds


def test_memory_hands_out_the_last_state_before_a_round_and_keeps_two():
    shelf = Memory()
    for round in (0, 3, 5):
        shelf.save("ann", ClientState(constant(float(round)), tuple(r for r in (0, 3, 5) if r <= round)))
    assert shelf.load("ann", 6).rounds == (0, 3, 5)
    assert shelf.load("ann", 5).rounds == (0, 3)
    assert shelf.load("ann", 3) == ClientState()  # the state of round 0 is let go
    assert shelf.load("bob", 6) == ClientState()


# --- clients that fail --------------------------------------------------------------------------------------------


def test_a_client_that_breaks_costs_its_upload_and_keeps_its_state():
    learners = {"ann": Adder(), "bob": Adder()}
    shelf = Memory()
    first = list(federation(fedavg(), learners, 2).rounds(server(), shelf, until=1))[-1]
    kept = shelf.load("bob", 1)
    second = list(federation(fedavg(), {**learners, "bob": Broken()}, 2).rounds(first.after, shelf, until=2))[-1]
    assert [upload.client for upload in second.admitted] == ["ann"]
    assert [str(refusal) for refusal in second.refused] == ["upload of client 'bob' refused: the loss is NaN in step 3"]
    assert shelf.load("bob", 2) is kept


def test_too_few_clients_is_an_error_after_one_repetition_that_names_each_of_them():
    learners = {"ann": Broken(), "bob": Broken(), "cat": Adder(num_examples=0)}
    with pytest.raises(TooFewClients) as caught:
        list(federation(fedavg(), learners, 3).rounds(server(), Memory(), until=1))
    assert [len(learner.starts) for learner in learners.values()] == [2, 2, 2]
    said = str(caught.value)
    assert "round 0: 0 usable uploads, min_clients is 1" in said
    assert "client 'ann' refused: the loss is NaN in step 3" in said
    assert "client 'cat' refused: num_examples is 0" in said


def test_too_few_clients_are_replaced_by_others_in_the_repetition():
    seed = 1  # one whose two draws have no client in common
    first, second = (tuple(sorted(select_clients(NAMES, 2, 0, seed, attempt))) for attempt in range(2))
    assert not set(first) & set(second)
    learners = {name: Broken() if name in first else Adder() for name in NAMES}
    world = federation(fedavg(), learners, 2, min_clients=2, seed=seed)
    done = next(world.rounds(server(), Memory(), until=1))
    assert done.selected == second
    assert [upload.client for upload in done.admitted] == list(second)
    assert [refusal.client for refusal in done.refused] == list(first)


def test_one_upload_is_too_few_where_two_are_asked_for():
    learners = {"ann": Adder(), "bob": Broken(), "cat": Broken()}
    with pytest.raises(TooFewClients, match="1 usable uploads, min_clients is 2"):
        list(federation(fedavg(), learners, 3, min_clients=2).rounds(server(), Memory(), until=1))


class BrokenOnce(Broken):
    def train(self, start, trained, rng, proximal):
        return (
            Adder.train(self, start, trained, rng, proximal) if self.starts else super().train(start, trained, rng, 0)
        )


@pytest.mark.parametrize("draw", ["stratified", "client"])
def test_an_upload_of_a_repeated_round_is_dropped_and_one_that_was_sent_again_to_the_bit_is_not(draw):
    """All four are drawn in both attempts, in another order: by it a stratified draw says who sends A."""
    learners = {name: BrokenOnce() if name == "ann" else Adder() for name in NAMES[:4]}
    world = federation(fedrand(draw=draw, min_group=1), learners, min_clients=4, seed=1)
    done = next(world.rounds(server(), Memory(), until=1))
    sent = {(name, frozenset(m.params)) for name, m in done.messages if isinstance(m, Upload)}
    assert len(sent) == len(done.outcomes) + len(done.dropped)
    kept = {(one.upload.client, frozenset(one.upload.params)) for one in (*done.outcomes, *done.dropped)}
    assert kept == sent
    assert bool(done.dropped) == (draw == "stratified")


def test_enough_clients_are_enough():
    learners = {"ann": Adder(), "bob": Adder(), "cat": Broken()}
    done = next(federation(fedavg(), learners, 3, min_clients=2).rounds(server(), Memory(), until=1))
    assert len(done.admitted) == 2
    assert len(learners["ann"].starts) == 1
