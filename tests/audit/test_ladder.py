"""Each rung on a transcript written by hand, and against the truth of a simulated run."""

from dataclasses import replace

import numpy as np
import pytest
from simulated import Silenced, simulate

from fedrand.audit.ladder import TITLES, distance, rebuilt, rungs, truth
from fedrand.audit.views import seen_by
from fedrand.params import Key, identical
from fedrand.strategies import fedavg, fedrand


def halves(params, factor):
    return {key: value for key, value in params.items() if key.factor == factor}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("transcript"), fedrand(), rounds=8)


def test_every_rung_holds_the_newest_half_and_its_own_other_half(run):
    for client in run.learners:
        view = seen_by("T3", run.folder, run.final, client)
        *_, last = (o for done in run.rounds for o in done.outcomes if o.upload.client == client)
        round, sent = last.upload.round, last.upload.params
        found, begin, end = rungs(view), run.rounds[round].before.params, run.rounds[round].after.params
        for params in found.values():
            assert identical({key: params[key] for key in sent}, dict(sent))
        hidden = begin.keys() - sent.keys()
        assert all(np.array_equal(found["R2"][key], begin[key]) for key in hidden)
        assert all(np.array_equal(found["R3"][key], end[key]) for key in hidden)
        earlier = [o.upload for done in run.rounds[:round] for o in done.outcomes if o.upload.client == client]
        held = [upload for upload in earlier if hidden <= upload.params.keys()]
        then = run.rounds[held[-1].round].after.params if held else begin
        stale = held[-1].params if held else begin
        assert all(np.array_equal(found["R1"][key], stale[key]) for key in hidden)
        assert all(np.allclose(found["R4"][key], stale[key] + end[key] - then[key], atol=1e-5) for key in hidden)


def test_the_truth_is_no_distance_away_and_only_an_oracle_has_it(run):
    view, server = seen_by("Tinf", run.folder, run.final), seen_by("T3+", run.folder, run.final)
    for client in run.learners:
        true = truth(view, client)
        assert distance(true, true) == 0
        assert all(distance(params, true) > 0 for params in rungs(server, client).values())
        with pytest.raises(PermissionError):
            truth(server, client)
    assert distance({Key("q", "A"): np.array([3.0, 5.0])}, {Key("q", "A"): np.array([3.0, 4.0])}) == pytest.approx(0.2)


def test_where_everything_is_sent_every_rung_is_the_client(tmp_path):
    run = simulate(tmp_path, fedavg(), rounds=2, clients=2, per_round=2)
    view = seen_by("Tinf", run.folder, run.final)
    for params in rungs(view, "c1").values():
        assert distance(params, truth(view, "c1")) == 0
    assert set(rungs(view, "c1")) == {"R1", "R2", "R3", "R4"} < set(TITLES)


def test_a_client_of_which_nothing_was_taken_has_no_rungs(tmp_path):
    run = simulate(tmp_path, replace(fedrand(), release=Silenced({1})), rounds=1, clients=3, per_round=3)
    view = seen_by("T3+", run.folder, run.final)
    assert [bool(rungs(view, client)) for client in run.learners] == [True, False, True]


def test_a_refused_upload_is_no_part_of_any_rung(tmp_path):
    run = simulate(tmp_path, replace(fedrand(), release=Silenced({4})), rounds=2, clients=3, per_round=3)
    view = seen_by("T3+", run.folder, run.final)
    assert all(np.isfinite(value).all() for params in rungs(view, "c1").values() for value in params.values())
    assert set(rebuilt(view, "c1").age.values()) == {0, None}
