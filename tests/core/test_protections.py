"""What a stratified draw, a smallest group, clipping and noise do to a round, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from fedrand.aggregation import Average
from fedrand.federation import Federation, Memory, initial_server
from fedrand.messages import ClientState, ServerState
from fedrand.randomness import stream
from fedrand.release import ClippedGaussian
from fedrand.round import client_round
from fedrand.strategies import fedrand
from fedrand.strategies.fedrand import senders_of_a
from small_world import KEYS, LOW_A, Adder, constant, from_server, halves, upload

A, B = halves(KEYS, "A"), halves(KEYS, "B")


@pytest.mark.parametrize(
    ("rho", "clients", "senders"), [(0.5, 4, 2), (0.5, 5, 3), (0.7, 10, 7), (0.1, 4, 1), (1.0, 3, 3), (0.0, 3, 0)]
)
def test_of_a_stratified_draw_exactly_the_ceiling_of_rho_times_the_clients_send_a(rho, clients, senders):
    learners = {f"c{number}": Adder() for number in range(clients)}
    federation = Federation(fedrand(rho=rho, draw="stratified", min_group=1), learners, clients, seed=3)
    assert senders_of_a(rho, clients) == senders
    for done in federation.rounds(initial_server(Adder(), 0), Memory(), until=6):
        assert sum(frozenset(one.params) == A for one in done.admitted) == senders
        assert sum(frozenset(one.params) == B for one in done.admitted) == clients - senders


def test_a_stratified_client_switches_halves_as_the_servers_draw_has_it():
    learners = {f"c{number}": Adder() for number in range(4)}
    federation = Federation(fedrand(draw="stratified", min_group=1), learners, 4, seed=0)
    rounds = list(federation.rounds(initial_server(Adder(), 0), Memory(), until=30))
    sent = [LOW_A in one.params for done in rounds for one in done.admitted if one.client == "c1"]
    assert 5 < sum(sent) < 25


def test_a_half_that_too_few_sent_keeps_its_value_bit_for_bit():
    server = ServerState(0, constant(7.0))
    uploads = [upload("ann", constant(1.0, A)), upload("bob", constant(3.0, A)), upload("cat", constant(9.0, B))]
    after = Average(min_group=2).step(server, uploads)
    assert all(np.array_equal(after.params[key], constant(2.0)[key]) for key in A)
    assert all(np.array_equal(after.params[key], server.params[key]) for key in B)


def test_no_round_of_a_protected_run_repeats_a_lone_clients_half():
    learners = {f"c{number}": Adder(amount=2.0**number) for number in range(6)}
    for strategy, alone in ((fedrand(), True), (fedrand(draw="stratified"), False)):
        federation = Federation(strategy, learners, 6, seed=1)
        found = [
            any(np.array_equal(done.after.params[key], one.params[key]) for key in one.params)
            for done in federation.rounds(initial_server(Adder(), 0), Memory(), until=200)
            for one in done.admitted
        ]
        assert any(found) == alone


def test_an_upload_is_clipped_to_the_norm_over_all_its_tensors():
    start, trained = constant(1.0, A), constant(4.0, A)  # 14 numbers, each 3 away: norm sqrt(126)
    sent = ClippedGaussian(clip=2.0).apply(start, trained, stream(0))
    change = np.concatenate([(sent[key] - start[key]).ravel() for key in sorted(sent)])
    assert np.linalg.norm(change) == pytest.approx(2.0, abs=1e-5)
    assert np.allclose(change, change[0])
    kept = ClippedGaussian(clip=100.0).apply(start, trained, stream(0))
    assert all(np.array_equal(kept[key], trained[key]) for key in A)


def test_noise_has_the_standard_deviation_of_noise_times_clip():
    start = {LOW_A: np.zeros((400, 500), np.float32)}
    sent = ClippedGaussian(clip=0.5, noise=3.0).apply(start, start, stream(1))
    assert float(sent[LOW_A].std()) == pytest.approx(1.5, rel=0.01)
    assert float(sent[LOW_A].mean()) == pytest.approx(0.0, abs=0.02)
    again = ClippedGaussian(clip=0.5, noise=3.0).apply(start, start, stream(2))
    assert not np.array_equal(sent[LOW_A], again[LOW_A])


class Talker(Adder):
    def train(self, start, trained, rng, proximal):
        return replace(super().train(start, trained, rng, proximal), metrics={"loss_mean": 3.0})


@pytest.mark.parametrize(("release", "told"), [(None, {"loss_mean": 3.0}), (ClippedGaussian(1.0, 1.0), {})])
def test_a_noised_upload_has_no_figure_of_its_client_beside_it(release, told):
    strategy = replace(fedrand(), release=release) if release else fedrand()
    fetch = from_server(constant(0.0))
    outcome = client_round("ann", 0, strategy, KEYS, ClientState(), fetch, Talker(), stream(0))
    assert outcome.upload.metrics == told


def test_a_negative_group_is_refused():
    with pytest.raises(ValueError, match="min_group is -1"):
        fedrand(min_group=-1)
