"""What trains, travels and stays is told before a run, from the strategy's own draws."""

import pytest
from numpy_world import SHAPES

from fedrand.params import Key
from fedrand.plan import describe, plan
from fedrand.strategies import fedavg, fedpara, fedper, fedrand, local

A, B = 2 * 2 * 5, 2 * 4 * 2  # parameters of all A, of all B


def lines(strategy, asked=4):
    return {(line.what, line.part): line for line in plan(strategy, SHAPES, asked)}


def test_fedavg_sends_everything_and_keeps_nothing():
    found = lines(fedavg())
    assert found["travels", "all"].amount == (4, A + B, 4 * (A + B))
    assert found["stays", "none"].amount == (0, 0, 0)


def test_fedrand_sends_one_half_and_keeps_the_other():
    found = lines(fedrand(rho=0.3))
    assert found["trains", "all"].amount.parameters == A + B
    assert found["travels", "A"].amount.parameters == found["stays", "A"].amount.parameters == A
    assert found["travels", "A"].share == 0.3
    assert found["travels", "A"].share + found["travels", "B"].share == 1
    assert found["stays", "B"].share == found["travels", "A"].share


@pytest.mark.parametrize(("rho", "asked", "senders"), [(0.3, 4, 2), (0.5, 3, 2), (0.7, 10, 7), (1.0, 4, 4)])
def test_a_stratified_draw_s_shares_are_its_senders_among_those_asked(rho, asked, senders):
    found = lines(fedrand(rho=rho, draw="stratified"), asked)
    assert found["travels", "A"].share == senders / asked
    assert (("travels", "B") in found) == (senders < asked)


def test_layers_that_draw_for_themselves_have_one_layer_s_odds_and_the_text_says_so():
    assert lines(fedrand(rho=0.3, draw="layer"))["travels", "A"].share == 0.3
    assert "each layer draws for itself" in describe(fedrand(draw="layer"), SHAPES).splitlines()[0]


def test_fedper_shares_one_of_two_layers_and_says_that_round_zero_differs():
    found = lines(fedper(layers=1))
    assert found["travels", "layers"].amount.parameters == found["stays", "layers"].amount.parameters == (A + B) / 2
    text = describe(fedper(layers=1), SHAPES)
    assert "travels all    4 tensors, 36 parameters, 144 bytes in round 0" in text


def test_fedpara_trains_two_pairs_and_sends_one():
    wide = SHAPES | {Key(key.layer, f"{key.factor}2"): shape for key, shape in SHAPES.items()}
    found = {(line.what, line.part): line.amount.parameters for line in plan(fedpara(), wide)}
    assert found == {("trains", "all"): 2 * (A + B), ("travels", "A+B"): A + B, ("stays", "A2+B2"): A + B}
    assert "in round 0" not in describe(fedpara(), wide)


def test_alone_nothing_travels():
    assert lines(local())["travels", "none"].amount == (0, 0, 0)


def test_the_plan_is_text_with_a_line_per_part():
    text = describe(fedrand(download="drawn"), SHAPES)
    assert text.startswith("fedrand: adapter of 4 tensors, 36 parameters, 144 bytes; a client downloads only")
    assert len(text.splitlines()) == 6
