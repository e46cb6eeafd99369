"""Equations 8 to 10 by hand: three clients, of which Ann and Cat sent A, and Bob sent B."""

import numpy as np
import pytest

from fedrand.aggregation import Average
from fedrand.messages import ServerState
from small_world import KEYS, LOW_A, LOW_B, TOP_A, TOP_B, constant, halves, upload

A, B = halves(KEYS, "A"), halves(KEYS, "B")
SERVER = ServerState(4, constant(7.0))
ANN = upload("ann", constant(10.0, A), num_examples=1, round=4)
BOB = upload("bob", constant(20.0, B), num_examples=3, round=4)
CAT = upload("cat", constant(40.0, A), num_examples=2, round=4)


def test_each_half_is_the_weighted_mean_of_those_who_sent_it():
    after = Average().step(SERVER, [ANN, BOB, CAT])
    # A: alpha m = 1 + 2 = 3, so (1 * 10 + 2 * 40) / 3 = 30; Bob's 3 examples weigh nothing here
    # B: beta m = 3, so 3 * 20 / 3 = 20
    for key, value in {LOW_A: 30.0, TOP_A: 30.0, LOW_B: 20.0, TOP_B: 20.0}.items():
        assert np.array_equal(after.params[key], constant(value)[key]), key
    assert after.round == 5


def test_without_normalization_the_weights_are_those_of_everyone():
    after = Average(normalize=False).step(SERVER, [ANN, BOB, CAT])
    # m = 1 + 3 + 2 = 6: A = (1 * 10 + 2 * 40) / 6 = 15, B = 3 * 20 / 6 = 10
    for key, value in {LOW_A: 15.0, TOP_A: 15.0, LOW_B: 10.0, TOP_B: 10.0}.items():
        assert np.array_equal(after.params[key], constant(value)[key]), key


def test_layers_that_were_drawn_apart_are_averaged_apart():
    mixed = upload("bob", {LOW_A: constant(50.0)[LOW_A], TOP_B: constant(60.0)[TOP_B]}, num_examples=1, round=4)
    after = Average().step(SERVER, [ANN, mixed])
    # low A: (10 + 50) / 2 = 30; top A: Ann's 10 alone; top B: Bob's 60 alone; low B: nobody's, stays 7
    for key, value in {LOW_A: 30.0, TOP_A: 10.0, LOW_B: 7.0, TOP_B: 60.0}.items():
        assert np.array_equal(after.params[key], constant(value)[key]), key


@pytest.mark.parametrize("normalize", [True, False])
def test_a_half_nobody_sent_keeps_its_bits(normalize):
    odd = np.array([[-0.0, 1e-45], [np.float32(0.1), 3.4e38], [0.0, -1e-38], [1.0, -1.0]], np.float32)
    server = ServerState(4, {**SERVER.params, TOP_B: odd})
    after = Average(normalize).step(server, [ANN, CAT])
    assert after.params[TOP_B].tobytes() == odd.tobytes()
    assert after.params[LOW_B].tobytes() == SERVER.params[LOW_B].tobytes()


def test_a_round_without_any_upload_changes_nothing_but_its_number():
    after = Average().step(SERVER, [])
    assert after.round == 5
    assert all(after.params[key].tobytes() == SERVER.params[key].tobytes() for key in KEYS)


def test_the_order_in_which_uploads_arrive_does_not_matter():
    server = ServerState(0, constant(0.0, dtype=np.float64))
    # in float64, 1e16 + 1 - 1e16 is 0 and 1e16 - 1e16 + 1 is 1
    uploads = [upload(name, constant(x, dtype=np.float64)) for name, x in (("ann", 1e16), ("bob", 1.0), ("cat", -1e16))]
    forward, backward = Average().step(server, uploads), Average().step(server, [uploads[i] for i in (2, 0, 1)])
    assert all(forward.params[key].tobytes() == backward.params[key].tobytes() for key in KEYS)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_adapter_is_averaged_in_float64_and_returned_in_its_own_type(dtype):
    server = ServerState(0, constant(0.0, dtype=dtype))
    # a float16 running sum would stop growing at 2048
    uploads = [upload(f"c{i:04}", constant(1.0, dtype=dtype)) for i in range(3000)]
    after = Average().step(server, uploads)
    assert all(value.dtype == dtype and (value == 1.0).all() for value in after.params.values())


def test_the_state_before_is_left_alone():
    kept = {key: value.copy() for key, value in SERVER.params.items()}
    Average().step(SERVER, [ANN, BOB, CAT])
    assert all(np.array_equal(SERVER.params[key], kept[key]) for key in KEYS)
