"""What trains, travels and stays is told before a run, from the strategy's own draws."""

from numpy_world import SHAPES

from fedrand.params import Key
from fedrand.plan import describe, plan
from fedrand.strategies import fedavg, fedpara, fedper, fedrand, local

A, B = 2 * 2 * 5, 2 * 4 * 2  # parameters of all A, of all B


def lines(strategy):
    return {(line.what, line.part): line for line in plan(strategy, SHAPES)}


def test_fedavg_sends_everything_and_keeps_nothing():
    found = lines(fedavg())
    assert found["travels", "all"].amount == (4, A + B, 4 * (A + B))
    assert found["stays", "none"].amount == (0, 0, 0)


def test_fedrand_sends_one_half_and_keeps_the_other():
    found = lines(fedrand(rho=0.3))
    assert found["trains", "all"].amount.parameters == A + B
    assert found["travels", "A"].amount.parameters == found["stays", "A"].amount.parameters == A
    assert abs(found["travels", "A"].share - 0.3) < 0.1
    assert found["travels", "A"].share + found["travels", "B"].share == 1
    assert found["stays", "B"].share == found["travels", "A"].share


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
