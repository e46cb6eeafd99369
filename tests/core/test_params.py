"""Tensors by name."""

import numpy as np
import pytest

from fedrand.params import Key, copied, difference, identical, norm, num_bytes, select
from small_world import KEYS, LOW_A, LOW_B, TOP_A, constant


def test_a_key_reads_as_it_is_written():
    assert str(Key("layers.0.q_proj", "A")) == "layers.0.q_proj.A"
    assert all(Key.parse(str(key)) == key for key in KEYS)


@pytest.mark.parametrize("text", ["", "A", ".A", "layers.0."])
def test_a_name_that_is_no_key_says_what_one_is(text):
    with pytest.raises(ValueError, match=r"is not a tensor name; expected LAYER\.FACTOR"):
        Key.parse(text)


def test_select_keeps_the_order_of_the_tensors_and_names_the_missing():
    params = {TOP_A: np.zeros(1), LOW_A: np.ones(1)}
    assert list(select(params, [LOW_A, TOP_A])) == [TOP_A, LOW_A]
    with pytest.raises(KeyError, match=r"no tensor named layers\.0\.q_proj\.B"):
        select(params, [LOW_A, LOW_B])


def test_copies_share_no_memory():
    params = constant(1.0)
    assert not any(np.shares_memory(value, params[key]) for key, value in copied(params).items())


def test_bytes_and_norm_of_the_small_world():
    params = constant(2.0)  # 2 * 3 + 3 * 2 + 2 * 4 + 4 * 2 = 28 numbers
    assert num_bytes(params) == 28 * 4
    assert norm(params) == pytest.approx((28 * 4.0) ** 0.5)
    assert norm({LOW_A: np.full(2, 3e4, np.float16)}) == pytest.approx(3e4 * 2**0.5, rel=1e-3)  # no overflow


def test_difference_is_taken_on_the_left_keys():
    gap = difference({LOW_A: constant(3.0)[LOW_A]}, constant(1.0))
    assert gap.keys() == {LOW_A}
    assert (gap[LOW_A] == 2.0).all()


def test_identical_means_the_same_bits_types_and_keys():
    params = constant(0.0)
    assert identical(params, copied(params))
    assert not identical(params, {key: -value for key, value in params.items()})  # -0.0
    assert not identical(params, {key: value.view(np.int32) for key, value in params.items()})
    assert not identical(params, {LOW_A: params[LOW_A]})
    assert not identical(params, {key: value.reshape(-1) for key, value in params.items()})
