"""What must hold for every method on offer, with each of its options."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrand.aggregation import Average
from fedrand.federation import initial_server
from fedrand.messages import ClientState, ServerState
from fedrand.params import identical
from fedrand.randomness import stream
from fedrand.round import client_round
from fedrand.strategies import fedavg
from fedrand.strategy import Turn, odds
from small_world import VARIANTS, Adder, constant, from_server, keys_of, play

every_strategy = pytest.mark.parametrize("strategy", [pytest.param(v.strategy, id=v.id) for v in VARIANTS])
normalized = pytest.mark.parametrize(
    "strategy", [pytest.param(v.strategy, id=v.id) for v in VARIANTS if v.strategy.aggregation == Average()]
)
layers = st.sets(st.integers(0, 40), min_size=1, max_size=8).map(lambda numbers: [f"layers.{n}" for n in numbers])
turns = st.lists(st.integers(0, 30), max_size=2, unique=True).map(sorted).map(lambda rounds: turn_of(*rounds))
seeds = st.integers(0, 2**32)


def turn_of(last=None, round=None):
    """A turn in `round` after one in `last`; the first one where only one is given, in round 0 where none is."""
    return Turn(round, first=False, last=last) if round is not None else Turn(last or 0, first=True)


def server_of(strategy, learner, seed=0):
    return initial_server(learner, seed, strategy)


@every_strategy
@given(layers=layers, turn=turns, seed=seeds)
def test_a_split_covers_each_key_exactly_once(strategy, layers, turn, seed):
    keys = keys_of(strategy, layers)
    split = strategy.sharing.split(keys, turn, stream(seed))
    assert split.shared | split.private | split.frozen == keys
    assert len(split.shared) + len(split.private) + len(split.frozen) == len(keys)
    assert split.from_server | split.fresh <= keys
    assert split.shared | split.from_server <= strategy.held(keys)


@every_strategy
@given(layers=layers, turn=turns, seed=seeds)
def test_a_server_takes_the_keys_that_a_client_sends_and_no_more_and_no_less(strategy, layers, turn, seed):
    keys = keys_of(strategy, layers)
    sent = strategy.sharing.split(keys, turn, stream(seed)).shared
    assert strategy.sharing.fault(strategy.held(keys), sent, turn.round) is None
    others = strategy.held(keys) - sent
    for wrong in (*(sent - {key} for key in sent), *(sent | {key} for key in others)):
        assert strategy.sharing.fault(strategy.held(keys), wrong, turn.round)


@every_strategy
@given(turn=turns, seed=seeds)
def test_only_shared_keys_leave_and_a_newcomer_can_always_start(strategy, turn, seed):
    keys = keys_of(strategy)
    state = ClientState() if turn.first else ClientState(constant(5.0, keys), (turn.last,))
    fetch = from_server(constant(100.0, strategy.held(keys)))
    outcome = client_round("ann", turn.round, strategy, keys, state, fetch, Adder(keys=keys), stream(seed))
    assert outcome.upload.params.keys() == outcome.split.shared
    assert outcome.state.local.keys() == keys
    assert all(key in outcome.downloaded for key in outcome.split.needed)


@every_strategy
def test_the_order_of_keys_and_clients_does_not_matter(strategy):
    def final(order):
        first = server_of(strategy, Adder(keys=keys_of(strategy)), seed=3)
        server = ServerState(0, {key: first.params[key] for key in order(first.params)})
        clients = {f"c{i}": Adder(i + 0.1, i + 1, keys_of(strategy)) for i in range(4)}
        return play(strategy, {name: clients[name] for name in order(clients)}, 4, server)[-1].after.params

    assert identical(final(sorted), final(lambda names: sorted(names, reverse=True)))


class Twin(Adder):
    """Every twin starts from the same adapter, also when it makes its own."""

    def initial(self, rng):
        return super().initial(stream(0, "twins"))


@normalized
def test_identical_clients_collapse_to_fedavg_on_the_keys_that_were_sent(strategy):
    keys = keys_of(strategy)
    server = ServerState(0, Twin(keys=keys).initial(stream(0)))

    def first_round(method):
        return play(method, {f"c{i}": Twin(0.25, 3, keys) for i in range(6)}, 1, server)[0]

    done, plain = first_round(strategy), first_round(fedavg())
    sent = {key for upload in done.admitted for key in upload.params}
    assert bool(sent) == any(outcome.split.shared for outcome in done.outcomes)
    for key in keys:
        expected = plain.after.params[key] if key in sent else server.params[key]
        assert done.after.params[key].tobytes() == expected.tobytes()


@every_strategy
@given(layers=layers, turn=turns, asked=st.integers(1, 6))
def test_the_odds_of_a_turn_are_what_its_draws_come_to(strategy, layers, turn, asked):
    keys, turn, rng = keys_of(strategy, layers), replace(turn, of=asked), stream(0, "odds")
    told = odds(strategy.sharing, keys, turn)
    assert sum(chance for chance, _ in told) == pytest.approx(1)
    drawn = [strategy.sharing.split(keys, replace(turn, place=n % asked), rng) for n in range(40 * asked)]
    for key in keys:
        chance = sum(chance for chance, split in told if key in split.shared)
        seen = sum(key in split.shared for split in drawn) / len(drawn)
        assert abs(chance - seen) < 5 * 0.5 / len(drawn) ** 0.5
        assert chance not in (0, 1) or seen == chance


@dataclass
class Watched:
    """A sharing that tells the learner of its client which keys are private, so that it can mark them."""

    sharing: object
    private: frozenset = frozenset()

    def split(self, keys, turn, rng):
        split = self.sharing.split(keys, turn, rng)
        self.private = split.private
        return split

    def fault(self, keys, sent, round):
        return self.sharing.fault(keys, sent, round)


class Marker(Adder):
    """Adds 10^id to the private keys, and 0.01 to the shared ones: whose digit is it that turns up?"""

    def __init__(self, number, watched, keys):
        super().__init__(keys=keys)
        self.number, self.watched = number, watched

    def train(self, start, trained, rng, proximal):
        done = super().train(start, trained, rng, proximal)
        for key in trained:
            done.params[key] = start[key] + np.float32(10**self.number if key in self.watched.private else 0.01)
        return done


def digits(params):
    """The decimal places in use over all tensors: 300.4 uses {2}."""
    whole = {int(abs(np.rint(number))) for value in params.values() for number in value.flat}
    return {place for number in whole for place, digit in enumerate(reversed(str(number))) if digit != "0"}


@every_strategy
def test_a_private_half_never_appears_at_the_server_or_in_another_clients_start(strategy):
    watched = Watched(strategy.sharing)
    method, keys = replace(strategy, sharing=watched), keys_of(strategy)
    learners = {f"c{i}": Marker(i, watched, keys) for i in range(3)}
    rounds = play(method, learners, 8, server_of(strategy, Adder(keys=keys)), seed=1)
    for done in rounds:
        assert digits(done.after.params) == set()
        assert done.after.params.keys() == strategy.held(keys)
        for outcome in done.outcomes:
            assert digits(outcome.upload.params) == set()
            assert digits(outcome.downloaded) == set()
    for learner in learners.values():
        assert all(digits(start) <= {learner.number} for start in learner.starts)


@every_strategy
def test_a_private_half_starts_where_its_own_client_left_it(strategy):
    learners = {f"c{i}": Adder(10.0**i, keys=keys_of(strategy)) for i in range(3)}
    last = dict.fromkeys(learners, ClientState())
    for done in play(strategy, learners, 8, server_of(strategy, learners["c0"])):
        for outcome in done.outcomes:
            client, split = outcome.upload.client, outcome.split
            start = learners[client].starts[done.before.round]
            own = (split.private | split.frozen) - split.from_server - split.fresh
            assert all(start[key].tobytes() == last[client].local[key].tobytes() for key in own)
            assert all(start[key].tobytes() == done.before.params[key].tobytes() for key in split.needed)
            last[client] = outcome.state


@every_strategy
def test_a_strategy_is_known_by_the_name_it_is_offered_under(strategy, request):
    assert request.node.callspec.id.split()[0] == strategy.name
