"""Equations 5 to 7 by hand: where each half starts, what is kept and what leaves."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedrand.messages import ClientState
from fedrand.params import identical
from fedrand.randomness import stream
from fedrand.round import ClientError, Trained, client_round
from fedrand.strategies import fedavg, fedrand
from small_world import KEYS, LOW_A, Adder, constant, from_server, halves

A, B = halves(KEYS, "A"), halves(KEYS, "B")
SERVER = constant(100.0)
OWN = ClientState(constant(5.0), rounds=(2,))
NEW = ClientState()
DRAWS_A, DRAWS_B = {"rho": 1.0}, {"rho": 0.0}


def one_round(strategy, state, learner=None, round=3, asked=None, seed=0):
    learner = learner or Adder()
    return client_round("ann", round, strategy, KEYS, state, from_server(SERVER, asked), learner, stream(seed)), learner


def values(params):
    """The tensors by factor, each of one value all over: {"A": 100.0, "B": 5.0}."""
    assert all(value.min() == value.max() for value in params.values())
    return {key.factor: float(value.flat[0]) for key, value in params.items()}


def test_who_drew_a_starts_a_at_the_server_and_b_at_its_own_last():
    outcome, learner = one_round(fedrand(**DRAWS_A), OWN)
    assert values(learner.starts[0]) == {"A": 100.0, "B": 5.0}
    assert values(outcome.state.local) == {"A": 101.0, "B": 6.0}  # both halves trained, both kept
    assert values(outcome.upload.params) == {"A": 101.0}  # one half sent
    assert outcome.upload.params.keys() == A
    assert outcome.state.rounds == (2, 3)


def test_who_drew_b_starts_b_at_the_server_and_a_at_its_own_last():
    outcome, learner = one_round(fedrand(**DRAWS_B), OWN)
    assert values(learner.starts[0]) == {"A": 5.0, "B": 100.0}
    assert values(outcome.state.local) == {"A": 6.0, "B": 101.0}
    assert values(outcome.upload.params) == {"B": 101.0}


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_in_round_zero_everyone_starts_at_the_shared_adapter(rho):
    _, learner = one_round(fedrand(rho=rho), NEW, round=0)
    assert values(learner.starts[0]) == {"A": 100.0, "B": 100.0}


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_a_client_first_met_later_takes_both_halves_from_the_server(rho):
    _, learner = one_round(fedrand(rho=rho), NEW, round=3)
    assert values(learner.starts[0]) == {"A": 100.0, "B": 100.0}


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_independent_first_adapters_are_the_clients_own_in_round_zero_only(rho):
    strategy = fedrand(rho=rho, round0="independent")
    _, ann = one_round(strategy, NEW, round=0, seed=1)
    _, bob = one_round(strategy, NEW, round=0, seed=2)
    first, second = ann.starts[0], bob.starts[0]
    assert all(not np.array_equal(first[key], second[key]) and np.ptp(first[key]) > 0 for key in A)
    assert all((first[key] == 0).all() for key in B)
    _, later = one_round(strategy, NEW, round=1)
    assert values(later.starts[0]) == {"A": 100.0, "B": 100.0}


def test_a_fresh_first_private_b_is_zero_and_the_shared_a_the_servers():
    _, learner = one_round(fedrand(**DRAWS_A, first="fresh"), NEW, round=3)
    assert values(learner.starts[0]) == {"A": 100.0, "B": 0.0}


def test_a_fresh_first_private_a_is_random_and_the_shared_b_the_servers():
    _, learner = one_round(fedrand(**DRAWS_B, first="fresh"), NEW, round=3)
    start = learner.starts[0]
    assert all(np.abs(start[key]).max() < 0.5 and np.ptp(start[key]) > 0 for key in A)
    assert all((start[key] == 100.0).all() for key in B)


def test_fresh_halves_are_for_newcomers_only():
    _, learner = one_round(fedrand(**DRAWS_A, first="fresh"), OWN)
    assert values(learner.starts[0]) == {"A": 100.0, "B": 5.0}


@pytest.mark.parametrize(("rho", "sent"), [(1.0, A), (0.0, B)])
def test_without_past_parameters_both_halves_start_at_the_server_and_one_is_sent(rho, sent):
    outcome, learner = one_round(fedrand(rho=rho, past=False), OWN)
    assert values(learner.starts[0]) == {"A": 100.0, "B": 100.0}
    assert outcome.upload.params.keys() == sent


def test_a_client_downloads_both_halves_or_only_the_one_it_drew():
    asked = []
    one_round(fedrand(**DRAWS_A, download="both"), OWN, asked=asked)
    one_round(fedrand(**DRAWS_A, download="drawn"), OWN, asked=asked)
    one_round(fedrand(**DRAWS_A, download="drawn"), NEW, asked=asked)
    assert asked == [KEYS, A, KEYS]  # a newcomer has no half of its own yet


def test_what_was_downloaded_changes_no_start():
    both, drawn = (one_round(fedrand(**DRAWS_B, download=how), OWN)[0] for how in ("both", "drawn"))
    assert identical(both.state.local, drawn.state.local)
    assert identical(both.upload.params, drawn.upload.params)


def test_fedavg_starts_at_the_server_and_sends_everything():
    outcome, learner = one_round(fedavg(), OWN)
    assert values(learner.starts[0]) == {"A": 100.0, "B": 100.0}
    assert values(outcome.upload.params) == {"A": 101.0, "B": 101.0}


def test_an_upload_carries_the_clients_name_round_and_number_of_examples():
    outcome, _ = one_round(fedavg(), OWN, Adder(num_examples=17))
    assert (outcome.upload.client, outcome.upload.round, outcome.upload.num_examples) == ("ann", 3, 17)


@dataclass(frozen=True)
class Negated:
    tells = True

    def apply(self, start, trained, rng):
        return {key: -value for key, value in trained.items()}


def test_an_upload_passes_the_release_and_the_client_keeps_what_it_trained():
    outcome, _ = one_round(replace(fedrand(**DRAWS_A), release=Negated()), OWN)
    assert values(outcome.upload.params) == {"A": -101.0}
    assert values(outcome.state.local) == {"A": 101.0, "B": 6.0}


class Reuser(Adder):
    """Trains every client in one and the same vector, and hands back views into it."""

    def __init__(self, vector):
        super().__init__()
        self.vector = vector

    def train(self, start, trained, rng, proximal):
        views, offset = {}, 0
        for key in sorted(KEYS):
            size = start[key].size
            views[key] = self.vector[offset : offset + size].reshape(start[key].shape)
            views[key][:] = start[key] + 1
            offset += size
        return Trained(views, 1, steps=1)


def test_a_clients_state_survives_the_training_of_the_next_one():
    learner = Reuser(np.zeros(28, np.float32))
    outcome, _ = one_round(fedrand(**DRAWS_A), OWN, learner)
    learner.vector[:] = -1
    assert values(outcome.state.local) == {"A": 101.0, "B": 6.0}
    assert values(outcome.upload.params) == {"A": 101.0}


class Idle(Adder):
    def train(self, start, trained, rng, proximal):
        return Trained(start, 1, steps=4)


class Loser(Adder):
    def train(self, start, trained, rng, proximal):
        return Trained({key: value + 1 for key, value in start.items() if key != LOW_A}, 1, steps=4)


class Exploder(Adder):
    def train(self, start, trained, rng, proximal):
        after = {key: value + 1 for key, value in start.items()}
        after[LOW_A][0, 0] = np.nan
        return Trained(after, 1, steps=4)


@pytest.mark.parametrize(
    ("learner", "says"),
    [
        (Idle(), "4 training steps changed no tensor"),
        (Loser(), "lost 1 tensors, first layers.0.q_proj.A"),
        (Exploder(), "1 tensors hold NaN or Inf after training, first layers.0.q_proj.A"),
    ],
)
def test_training_that_gave_nothing_usable_is_an_error(learner, says):
    with pytest.raises(ClientError, match=says):
        one_round(fedrand(), OWN, learner)
