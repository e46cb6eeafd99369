"""Attacks on uploads, by hand and on updates made from known activations."""

import math

import numpy as np
import pytest
from simulated import simulate

from fedrand.audit.threats import Sight
from fedrand.audit.transcript import transcript
from fedrand.audit.updates.averaged import averaged
from fedrand.audit.updates.cosine import cosines
from fedrand.audit.updates.difference import differences
from fedrand.audit.updates.fedmia import Compared, fedmia
from fedrand.audit.updates.gradient import Gradients
from fedrand.audit.updates.harvest import harvest, harvested, lone_senders, singletons
from fedrand.audit.updates.norm import gradient_norms
from fedrand.audit.updates.span import bases, projections
from fedrand.audit.views import seen_by
from fedrand.params import Key
from fedrand.strategies import fedrand

A, B = Key("q", "A"), Key("q", "B")


def stacked(*rows):
    return Gradients({A: np.array(rows, np.float32)})


def test_cosine_is_one_along_the_change_zero_across_it_and_zero_without_length():
    gradients = stacked([2.0, 0.0], [0.0, 3.0], [0.0, 0.0], [-1.0, 0.0])
    assert cosines(gradients, {A: np.array([1.0, 0.0])}).tolist() == [1.0, 0.0, 0.0, -1.0]
    assert not cosines(gradients, {A: np.zeros(2)}).any()


def test_cosine_runs_over_all_tensors_together():
    gradients = Gradients({A: np.array([[3.0]]), B: np.array([[[0.0, 4.0]]])})
    assert cosines(gradients, {A: np.array([1.0]), B: np.array([[0.0, 0.0]])}).tolist() == [0.6]


def test_norm_and_difference_by_hand():
    gradients, change = stacked([3.0, 4.0], [1.0, 0.0]), {A: np.array([2.0, 1.0])}
    assert gradient_norms(gradients).tolist() == [-5.0, -1.0]
    # ||d||^2 = 5; ||d - g||^2 = 1 + 9 and 1 + 1
    assert differences(gradients, change).tolist() == [-5.0, 3.0]


def test_the_average_weighs_rounds_alike_whatever_their_scale():
    early, late = np.array([100.0, 300.0]), np.array([0.02, 0.01])
    assert averaged([early, late]).tolist() == pytest.approx([0, 0], abs=1e-12)
    assert averaged([early, np.zeros(2)]).tolist() == [-1, 1]
    assert averaged([np.zeros(2)]).tolist() == [0, 0]


def test_fedmia_is_how_far_the_own_value_stands_above_the_others():
    others = np.array([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]])  # mean 2, deviation 2
    found = fedmia([Compared("A", np.array([2.0, 4.0]), others)])
    assert found.scores.tolist() == pytest.approx([0.5, 0.5 * (1 + math.erf(1 / math.sqrt(2)))])
    assert (found.rounds, found.pooled) == (1, 0)


def test_fedmia_pools_the_others_of_one_half_where_a_round_has_too_few_and_says_so():
    one, none = np.array([[1.0]]), np.zeros((0, 1))
    rounds = [Compared("A", np.array([2.0]), row) for row in (one, 3 * one, none)]
    found = fedmia([*rounds, Compared("B", np.array([9.0]), one)])  # B has one other in all: no deviation
    assert found.scores.tolist() == [0.5] and (found.rounds, found.pooled) == (3, 3)
    alone = fedmia([Compared("B", np.array([9.0]), none)])
    assert alone.rounds == 0 and alone.scores.tolist() == [0.0]


@pytest.fixture
def step():
    """One layer under SGD: inputs x and output gradients g of 6 members' 2 tokens each, and strangers' too."""
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(12, 2, 40)).astype(np.float32), rng.normal(size=(12, 2, 30)).astype(np.float32)
    a, b = rng.normal(size=(16, 40)), rng.normal(size=(30, 16))
    own_x, own_g = x[:6].reshape(-1, 40), g[:6].reshape(-1, 30)
    change = {A: 1e-3 * b.T @ own_g.T @ own_x, B: 1e-3 * own_g.T @ (own_x @ a.T)}
    return {key: value.astype(np.float32) for key, value in change.items()}, x, g


@pytest.mark.parametrize("factor", ["A", "B"])
def test_what_an_update_was_made_of_lies_in_its_span(step, factor):
    change, x, g = step
    spanned = bases(change, factor)
    assert spanned["q"].shape[0] == 12  # 12 tokens, although 16 directions were sent
    found = projections(spanned, {"q": {"A": x, "B": g}[factor]}, {"q": g})
    assert found[:6] == pytest.approx(1, abs=1e-4)
    assert (found[6:] < 0.95).all()


def test_padding_and_tokens_without_a_loss_are_no_part_of_a_projection(step):
    change, x, g = step
    spanned = bases(change, "A")
    before = projections(spanned, {"q": x}, {"q": g})
    padded = [np.concatenate([value, filling], axis=1) for value, filling in ((x, x[::-1]), (g, np.zeros_like(g)))]
    assert projections(spanned, {"q": padded[0]}, {"q": padded[1]}) == pytest.approx(before)


def test_a_change_of_nothing_spans_nothing():
    spanned = bases({A: np.zeros((2, 5), np.float32)}, "A")
    assert projections(spanned, {"q": np.ones((1, 1, 5))}, {"q": np.ones((1, 1, 4))}).tolist() == [0.0]
    assert bases({A: np.ones((2, 5))}, "B") == {}


@pytest.fixture(scope="module", params=["client", "layer"])
def run(request, tmp_path_factory):
    strategy = fedrand(draw=request.param)
    return simulate(tmp_path_factory.mktemp("transcript"), strategy, rounds=10, clients=6, per_round=4)


@pytest.mark.parametrize("threat", ["T1", "T2", "T4"])
def test_a_planted_singleton_is_harvested_bit_for_bit(run, threat):
    view = seen_by(threat, run.folder, run.final, "c0" if threat == "T4" else "")
    found = singletons(view, transcript(run.folder))
    planted = {
        (done.before.round, upload.client)
        for done in run.rounds
        for upload in done.admitted
        for key in upload.params
        if sum(key in other.params for other in done.admitted) == 1
    }
    assert {(row["round"], row["client"]) for row in found} == planted and planted
    assert all(row["recovered"] for row in found)


def test_only_group_sizes_make_a_harvest_certain(run):
    certain = list(harvested(seen_by("T2", run.folder, run.final)))
    guessed = list(harvested(seen_by("T1", run.folder, run.final)))
    assert all(one.certain for one in certain) and not any(one.certain for one in guessed)
    assert len(guessed) == 10 and sum(len(one.params) for one in certain) < sum(len(one.params) for one in guessed)
    lone = lone_senders(transcript(run.folder))
    for one in certain:
        assert one.params.keys() == {key for (round, _), keys in lone.items() if round == one.round for key in keys}
    with pytest.raises(PermissionError):
        next(harvested(seen_by("T0", run.folder, run.final)))


def test_weights_that_shrink_a_lone_half_are_undone_where_the_group_sizes_are_known(tmp_path):
    run = simulate(tmp_path, fedrand(normalize=False), rounds=10, clients=6, per_round=4)
    index = transcript(tmp_path)
    view = seen_by("T2", tmp_path, run.final)
    assert not any(row["recovered"] for row in singletons(view, index))  # taken as it stands it is not the upload
    for one in harvested(view, normalized=False):
        ((client, keys),) = [(c, keys) for (round, c), keys in lone_senders(index).items() if round == one.round]
        sent = next(view.params for view in run.rounds[one.round].admitted if view.client == client)
        assert one.params.keys() == keys
        assert all(np.allclose(one.params[key], sent[key], rtol=3e-7, atol=0) for key in keys)


def test_two_senders_are_no_singleton(tmp_path):
    run = simulate(tmp_path, fedrand(rho=1.0), rounds=2, clients=2, per_round=2)
    view = seen_by("T2", tmp_path, run.final)
    assert Sight.GROUPS in view.has and list(harvested(view)) == []
    before, after = run.rounds[0].before.params, run.rounds[0].after.params
    assert harvest(before, after, view.groups[0], normalized=True) == {}
