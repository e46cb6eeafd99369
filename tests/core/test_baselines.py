"""FedPer, FedPara and local training by hand: where each part starts, what stays and what travels."""

import pytest

from fedrand.federation import Federation, Memory, initial_server
from fedrand.messages import ClientState
from fedrand.params import Key
from fedrand.randomness import stream
from fedrand.round import client_round
from fedrand.strategies import STRATEGIES, fedpara, fedper, fedrand, local
from fedrand.strategy import Turn
from small_world import KEYS, LOW_A, LOW_B, TOP_A, TOP_B, WIDE, Adder, constant, from_server, halves, keys_of, play

LOW, TOP = frozenset({LOW_A, LOW_B}), frozenset({TOP_A, TOP_B})
TWENTY = frozenset(Key(f"model.layers.{n}.mlp.experts.{19 - n}.up_proj", f) for n in range(20) for f in "AB")
FIRST, SECOND = halves(WIDE, "A") | halves(WIDE, "B"), halves(WIDE, "A2") | halves(WIDE, "B2")


def layers_of(keys):
    return {int(key.layer.split(".")[2]) for key in keys}


@pytest.mark.parametrize("count", [1, 2, 4, 20])
def test_the_top_layers_are_the_last_by_number_not_by_spelling(count):
    split = fedper(count).sharing.split(TWENTY, Turn(3, first=False), stream(0))
    assert layers_of(split.shared) == set(range(20 - count, 20))  # 10 comes after 9


def test_more_layers_than_there_are_fail_at_once_with_the_reason():
    with pytest.raises(ValueError, match="layers is 3, the adapter has 2; choose at most that many"):
        Federation(fedper(3), {"ann": Adder()}, 1, seed=0)
    with pytest.raises(ValueError, match="no number in the name of layer head"):
        fedper(1).check(frozenset({Key("head", "A"), Key("head", "B")}))


def fedper_round(round, state):
    learner = Adder()
    server = {**constant(100.0, LOW), **constant(200.0, TOP)}
    outcome = client_round("ann", round, fedper(1), KEYS, state, from_server(server), learner, stream(0))
    return learner.starts[0], outcome


def test_round_zero_is_a_round_of_fedavg():
    start, outcome = fedper_round(0, ClientState())
    assert start[LOW_A][0, 0] == 100 and outcome.upload.params.keys() == KEYS


@pytest.mark.parametrize("state", [ClientState(), ClientState(constant(5.0), (0,))])
def test_private_layers_begin_at_the_aggregate_of_round_zero(state):
    """Also for a client that has trained in round 0, where they were shared yet."""
    start, outcome = fedper_round(3, state)
    assert start[LOW_A][0, 0] == 100 and start[TOP_A][0, 0] == 200
    assert outcome.upload.params.keys() == TOP and outcome.downloaded.keys() == KEYS


def test_later_they_go_on_where_the_client_left_them_and_are_not_downloaded():
    start, outcome = fedper_round(7, ClientState(constant(5.0), (0, 3)))
    assert start[LOW_A][0, 0] == 5 and start[TOP_A][0, 0] == 200
    assert outcome.upload.params.keys() == outcome.downloaded.keys() == TOP


def test_the_servers_private_layers_stay_the_aggregate_of_round_zero():
    # one adds 1, the other 3, with weights 1 and 3: the mean step is (1 + 9) / 4 = 2.5
    learners = {"ann": Adder(1.0, 1), "bob": Adder(3.0, 3)}
    server = initial_server(learners["ann"], seed=0)
    low, top = server.params[LOW_B][0, 0], server.params[TOP_B][0, 0]
    for number, done in enumerate(play(fedper(1), learners, 4, server), 1):
        assert done.after.params[LOW_B][0, 0] == low + 2.5
        assert done.after.params[TOP_B][0, 0] == top + 2.5 * number


@pytest.mark.parametrize(
    ("round", "sent", "fits"), [(0, KEYS, True), (0, TOP, False), (1, KEYS, False), (1, TOP, True)]
)
def test_fedper_refuses_the_wrong_layers_of_each_round(round, sent, fits):
    assert (fedper(1).sharing.fault(KEYS, sent, round) is None) == fits


def test_fedparas_second_pair_begins_at_the_clients_own_value_and_the_server_never_has_one():
    keys = keys_of(fedpara())
    learners = {name: Adder(1.0, 1, keys) for name in ("ann", "bob")}
    server = initial_server(learners["ann"], 0, fedpara())
    assert server.params.keys() == FIRST
    rounds = play(fedpara(), learners, 2, server)
    ann, bob = (learners[name].starts for name in ("ann", "bob"))
    for key in SECOND:
        assert ann[0][key].any() and (ann[0][key] != bob[0][key]).all()
        assert (ann[1][key] == ann[0][key] + 1).all()
    for key in FIRST:
        assert (ann[0][key] == server.params[key]).all() and (ann[1][key] == server.params[key] + 1).all()
    for done in rounds:
        assert done.after.params.keys() == FIRST
        assert all(o.upload.params.keys() == o.downloaded.keys() == FIRST for o in done.outcomes)
        assert all(o.state.local.keys() == keys for o in done.outcomes)


@pytest.mark.parametrize(
    ("strategy", "keys", "reason"),
    [
        (fedpara(), KEYS, "fedpara needs the factors A, A2, B, B2; the adapter has A, B"),
        (fedrand(), frozenset(WIDE), "fedrand needs the factors A, B; the adapter has A, A2, B, B2"),
    ],
)
def test_an_adapter_without_the_methods_factors_fails_before_any_training(strategy, keys, reason):
    learner = Adder(keys=keys)
    with pytest.raises(ValueError, match=reason):
        Federation(strategy, {"ann": learner}, 1, seed=0)
    assert not learner.starts


def test_alone_each_client_takes_the_first_adapter_once_and_sends_nothing():
    learners = {"ann": Adder(1.0), "bob": Adder(3.0)}
    server = initial_server(learners["ann"], seed=0)
    rounds = play(local(), learners, 3, server)
    assert all(not outcome.upload.params for done in rounds for outcome in done.outcomes)
    assert [[len(o.downloaded) for o in done.outcomes] for done in rounds] == [[4, 4], [0, 0], [0, 0]]
    assert learners["bob"].starts[2][LOW_B][0, 0] == 6.0  # B begins at zero and two rounds of 3 were added
    assert rounds[-1].after.params is not server.params
    assert all((rounds[-1].after.params[key] == server.params[key]).all() for key in KEYS)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_run_of_any_method_that_goes_on_from_any_round_ends_at_the_same_bits(name):
    strategy = STRATEGIES[name](**({"layers": 1} if name == "fedper" else {}))
    learners = {f"c{i}": Adder(i + 0.1, i + 1, keys_of(strategy)) for i in range(4)}
    players = Federation(strategy, learners, 2, seed=1)
    server = initial_server(learners["c0"], 0, strategy)
    whole = list(players.rounds(server, Memory(), until=5))[-1].after
    for killed in range(1, 5):
        shelf = Memory()
        begun = list(players.rounds(server, shelf, until=killed))[-1].after
        again = list(players.rounds(begun, shelf, until=5))[-1].after
        assert all(again.params[key].tobytes() == whole.params[key].tobytes() for key in whole.params)
