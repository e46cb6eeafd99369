"""The server's ledger of where clients began, against where they truly began."""

from dataclasses import replace

import numpy as np
import pytest
from simulated import Silenced, simulate

from fedrand.audit.knowledge import history, ledger
from fedrand.audit.transcript import oracle
from fedrand.audit.views import seen_by
from fedrand.release import AsTrained
from fedrand.strategies import fedavg, fedrand

METHODS = {
    "fedavg": fedavg(),
    "fedrand": fedrand(),
    "by layer": fedrand(draw="layer"),
    "no past": fedrand(past=False),
    "fresh": fedrand(first="fresh"),
    "independent": fedrand(round0="independent"),
    "mostly A": fedrand(rho=0.9),
    "stratified": fedrand(draw="stratified"),
}


def histories(run, strategy):
    view = seen_by("T3+", run.folder, run.final)
    return {name: [*history(view, name, strategy)] for name in run.learners}


def truths(run, strategy):
    """(upload as seen, true start) of every upload."""
    for own in histories(run, strategy).values():
        yield from ((seen, run.begun(seen.client, seen.round)) for seen in own)


@pytest.mark.parametrize("strategy", METHODS.values(), ids=METHODS)
def test_what_is_called_exact_is_true_to_the_bit_and_what_is_not_is_not(tmp_path, strategy):
    run, met = simulate(tmp_path, strategy, rounds=12), set()
    for seen, true in truths(run, strategy):
        for key, known in seen.start.items():
            same = known.value.tobytes() == np.asarray(true[key]).tobytes()
            assert same == (known.state == "exact"), (seen.round, key, known.state)
            met.add(known.state)
    assert "exact" in met


def test_half_of_the_later_starts_are_known_as_two_rho_one_minus_rho_says(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # a thousand files that need not outlive a power cut
    for rho, expected in ((0.5, 0.5), (0.8, 0.32)):
        run = simulate(tmp_path / str(rho), fedrand(rho=rho), rounds=100, clients=3, per_round=3)
        later = [seen for own in histories(run, fedrand(rho=rho)).values() for seen in own[1:]]
        assert len(later) == 297
        assert np.mean([seen.fully_known for seen in later]) == pytest.approx(expected, abs=0.09)  # 3 deviations
        assert all(seen.switched == seen.fully_known for seen in later)


def test_age_counts_the_trainings_that_nobody_saw(tmp_path):
    run = simulate(tmp_path, fedrand(rho=1.0), rounds=4, clients=1, per_round=1)
    (own,) = histories(run, fedrand(rho=1.0)).values()
    assert [seen.row()["rest"] for seen in own] == ["exact", "stale", "stale", "stale"]
    assert [seen.row()["age"] for seen in own] == [0, 1, 2, 3]


def test_the_ledger_counts_uploads_and_names_each_ones_part(tmp_path):
    run = simulate(tmp_path, fedavg(), rounds=3, clients=2, per_round=2)
    found = ledger({name: [seen.told() for seen in own] for name, own in histories(run, fedavg()).items()})
    assert (found["uploads"], found["start_known"]) == (6, 6)
    assert found["clients"]["c0"][0] == {"round": 0, "sent": "all", "rest": "none", "age": None}


def test_an_altered_upload_is_no_exact_copy_of_what_the_client_kept(tmp_path):
    class Doubled:
        tells = True

        def apply(self, start, trained, rng):
            return {key: value * 2 for key, value in trained.items()}

    strategy = replace(fedrand(), release=Doubled())
    run = simulate(tmp_path, strategy, rounds=12)
    for seen, true in truths(run, strategy):
        assert all(np.array_equal(seen.start[key].value, true[key]) for key in seen.exact)
    switched = [seen for own in histories(run, strategy).values() for seen in own if seen.switched]
    assert switched and not any(seen.fully_known for seen in switched)


def test_a_refused_upload_is_marked_kept_from_reconstruction_and_still_tells_that_the_client_trained(tmp_path):
    strategy = replace(fedrand(), release=Silenced({4, 9}))
    run = simulate(tmp_path, strategy, rounds=12)
    refused = [(done.before.round, one.client) for done in run.rounds for one in done.refused]
    assert len(refused) == 2
    view = seen_by("T3+", run.folder, run.final)
    for round, client in refused:
        assert round not in [entry.round for entry in view.uploads(client)]
        assert (round, "refused") in [(entry.round, entry.kind) for entry in view.turns(client)]
        assert round in [entry.round for entry in oracle(run.folder).of("oracle", client)]
    plain = replace(strategy, release=AsTrained())  # the silenced ones apart, uploads are what was kept
    for seen, true in truths(run, plain):
        assert all(np.array_equal(seen.start[key].value, true[key]) for key in seen.exact)


def test_an_old_transcript_without_marks_reads_the_same(tmp_path):
    strategy = replace(fedrand(), release=Silenced({4, 9}))
    run = simulate(tmp_path, strategy, rounds=12)
    new = {name: [seen.row() for seen in own] for name, own in histories(run, fedrand()).items()}
    for path in tmp_path.rglob("refused.*"):
        path.rename(path.with_name(path.name.replace("refused", "upload")))
    index = tmp_path / "index.jsonl"
    index.write_text(index.read_text().replace("refused", "upload"))
    old = {name: [seen.row() for seen in own] for name, own in histories(run, fedrand()).items()}
    assert old == new


def test_a_repeated_round_leaves_the_first_attempts_trace(tmp_path):
    strategy = replace(fedrand(), release=Silenced({5}))
    run = simulate(tmp_path, strategy, rounds=8, clients=4, per_round=1)
    dropped = [(done.before.round, one.upload.client) for done in run.rounds for one in done.dropped]
    assert len(dropped) == 1
    view = seen_by("T3+", run.folder, run.final)
    ((round, client),) = dropped
    assert (round, "refused") in [(entry.round, entry.kind) for entry in view.turns(client)]
    for seen, true in truths(run, fedrand()):
        assert all(np.array_equal(seen.start[key].value, true[key]) for key in seen.exact)
