"""What does not fit is refused by client, key and reason, and the round goes on with the others."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedrand.admission import Refused, admit
from fedrand.federation import initial_server
from fedrand.messages import ServerState
from fedrand.params import Key
from fedrand.strategies import fedavg, fedrand
from small_world import KEYS, LOW_A, LOW_B, SHAPES, TOP_A, Adder, constant, halves, play, upload

SERVER = ServerState(4, constant(0.0))
STRANGER = Key("lm_head", "A")
GOOD = upload("ann", constant(1.0), num_examples=3, round=4)


def with_tensor(key, value):
    return replace(GOOD, params={**GOOD.params, key: value})


def spoiled(value):
    tensor = np.ones(SHAPES[TOP_A], np.float32)
    tensor[1, 2] = value
    return with_tensor(TOP_A, tensor)


def knock(letter, strategy=None, taken=()):
    return admit(letter, SERVER, strategy or fedavg(), selected=("ann", "bob"), taken=taken)


def test_a_fitting_upload_is_let_in_as_it_is():
    assert knock(GOOD) is GOOD


FAULTS = {
    "unknown tensor": (with_tensor(STRANGER, np.ones(3, np.float32)), STRANGER, "the server holds no such tensor"),
    "wrong shape": (with_tensor(LOW_A, np.ones((3, 2), np.float32)), LOW_A, r"shape \(3, 2\), expected \(2, 3\)"),
    "whole numbers": (with_tensor(LOW_A, np.ones(SHAPES[LOW_A], np.int32)), LOW_A, "dtype int32, expected float32"),
    "wrong precision": (with_tensor(LOW_A, np.ones(SHAPES[LOW_A])), LOW_A, "dtype float64, expected float32"),
    "NaN": (spoiled(np.nan), TOP_A, "1 values are NaN or Inf"),
    "Inf": (spoiled(-np.inf), TOP_A, "1 values are NaN or Inf"),
    "missing tensor": (replace(GOOD, params=constant(1.0, KEYS - {LOW_B})), None, f"1 tensors missing, first {LOW_B}"),
    "no tensor": (replace(GOOD, params={}), None, "4 tensors missing"),
    "no example": (replace(GOOD, num_examples=0), None, "num_examples is 0"),
    "negative examples": (replace(GOOD, num_examples=-3), None, "num_examples is -3"),
    "half an example": (replace(GOOD, num_examples=2.5), None, "num_examples is 2.5"),
    "no number": (replace(GOOD, num_examples=float("nan")), None, "num_examples is nan"),
    "truth for a number": (replace(GOOD, num_examples=True), None, "num_examples is True"),
    "stale": (replace(GOOD, round=3), None, "it is for round 3, this is round 4"),
    "ahead": (replace(GOOD, round=5), None, "it is for round 5, this is round 4"),
    "not asked": (replace(GOOD, client="eve"), None, "the client was not asked in round 4"),
}


@pytest.mark.parametrize(("letter", "key", "reason"), FAULTS.values(), ids=FAULTS)
def test_what_does_not_fit_is_refused_by_client_key_and_reason(letter, key, reason):
    with pytest.raises(Refused, match=reason) as caught:
        knock(letter)
    assert (caught.value.client, caught.value.key) == (letter.client, key)
    assert f"client '{letter.client}' refused" in str(caught.value)
    assert key is None or str(key) in str(caught.value)


def test_a_second_copy_is_refused():
    with pytest.raises(Refused, match="a second copy for round 4"):
        knock(GOOD, taken=("ann",))


A, B = halves(KEYS, "A"), halves(KEYS, "B")
MIXED = frozenset({LOW_A}) | (B - {LOW_B})


@pytest.mark.parametrize("keys", [A, B])
@pytest.mark.parametrize("draw", ["client", "layer"])
def test_fedrand_lets_either_half_in(keys, draw):
    assert knock(replace(GOOD, params=constant(1.0, keys)), fedrand(draw=draw)).params.keys() == keys


def test_fedrand_lets_a_mixed_half_in_where_the_draw_is_per_layer():
    assert knock(replace(GOOD, params=constant(1.0, MIXED)), fedrand(draw="layer")).params.keys() == MIXED


@pytest.mark.parametrize(
    ("keys", "draw", "reason"),
    [
        (KEYS, "client", "both factors of layers.0.q_proj"),
        (A - {LOW_A}, "client", "neither factor of layers.0.q_proj"),
        (frozenset(), "layer", "neither factor of layers.0.q_proj"),
        (MIXED, "client", "one draw holds for all layers"),
    ],
)
def test_fedrand_refuses_what_no_draw_can_give(keys, draw, reason):
    with pytest.raises(Refused, match=reason):
        knock(replace(GOOD, params=constant(1.0, keys)), fedrand(draw=draw))


@dataclass(frozen=True)
class Garbled:
    """A release that breaks on its way out what the clients adding 2 have trained."""

    tells = True

    def apply(self, start, trained, rng):
        broken = any(np.isclose(trained[key] - start[key], 2.0).all() for key in trained)
        return {key: value * np.float32(np.inf if broken else 1.0) for key, value in trained.items()}


def test_the_round_goes_on_with_the_others():
    learners = {"ann": Adder(1.0), "bob": Adder(2.0), "cat": Adder(3.0), "dan": Adder(9.0, num_examples=0)}
    server = initial_server(learners["ann"], seed=0)
    done = play(replace(fedavg(), release=Garbled()), learners, 1, server)[0]
    assert [upload.client for upload in done.admitted] == ["ann", "cat"]
    assert [refusal.client for refusal in done.refused] == ["bob", "dan"]
    for key in KEYS:  # (1 + 3) / 2 was added
        np.testing.assert_allclose(done.after.params[key], server.params[key] + 2.0, rtol=1e-6)
