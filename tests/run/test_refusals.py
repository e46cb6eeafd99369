"""A client that fails costs the round its upload, and the run says whose and why; too few end it with the reasons."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy_world import CLIENTS, SHAPES, Walker, federation, recipe, start

from fedrand.audit.knowledge import history
from fedrand.audit.transcript import TranscriptError, TranscriptWriter, received, refuse_lost_uploads, transcript
from fedrand.audit.views import seen_by
from fedrand.federation import TooFewClients
from fedrand.ledger import part
from fedrand.progress import Event, Progress
from fedrand.recorded import federate
from fedrand.round import ClientError


class Broken(Walker):
    def train(self, start, trained, rng, proximal):
        raise ClientError("the loss is nan at step 1; lower train.lr")


def played(folder, broken, min_clients=1):
    told = []
    players = federation(folder.recipe)
    learners = {name: Broken(1) if name in broken else learner for name, learner in players.learners.items()}
    players = type(players)(players.strategy, learners, 3, 0, min_clients)
    federate(folder, players, TranscriptWriter(folder.transcript), 4, Progress(told.append))
    return told


def test_a_client_that_breaks_is_named_in_metrics_and_progress(tmp_path):
    folder = start(tmp_path / "run")
    told = played(folder, {CLIENTS[0]})
    refused = [(line["round"], *one.values()) for line in folder.metrics() for one in line["refused"]]
    assert refused
    assert {(client, key) for _, client, key, _ in refused} == {(CLIENTS[0], None)}
    assert all("lower train.lr" in reason for *_, reason in refused)
    texts = [event.text for event in told if isinstance(event, Event) and not event.total]
    assert len(texts) == len(refused)
    assert all(CLIENTS[0] not in line["clients"] for line in folder.metrics())


def test_too_few_clients_end_the_run_with_each_ones_reason_and_keep_the_state(tmp_path):
    folder = start(tmp_path / "run", recipe())
    before = folder.server()
    with pytest.raises(TooFewClients, match=r"min_clients is 1; .*lower train.lr"):
        played(folder, set(CLIENTS))
    assert folder.server().round == before.round == 0
    assert all(np.array_equal(folder.server().params[key], value) for key, value in before.params.items())


class BrokenOnce(Broken):
    """Breaks in its first training alone."""

    def train(self, start, trained, rng, proximal):
        if self.num_examples == 1:
            self.num_examples = 2
            return super().train(start, trained, rng, proximal)
        return Walker.train(self, start, trained, rng, proximal)


def test_a_client_that_sent_both_halves_in_a_repeated_round_pays_for_both(tmp_path):
    folder = start(tmp_path / "run", recipe("strategy.draw=stratified", "train.clients_per_round=5"))
    players = federation(folder.recipe)
    learners = {**players.learners, CLIENTS[0]: BrokenOnce(1)}
    players = replace(players, learners=learners, min_clients=5)
    federate(folder, players, TranscriptWriter(folder.transcript), 1, Progress())
    sent = {(row.client, row.part) for row in folder.ledger() if row.direction == "upload"}
    assert len(sent) > len(CLIENTS)
    index = transcript(folder.transcript)
    assert received(index) == Counter(client for client, _ in sent)
    assert {part(frozenset(index.read(entry)), frozenset(SHAPES)) for entry in index.entries} == {"all", "A", "B"}
    refuse_lost_uploads(folder)
    method = folder.recipe.method()
    for client in CLIENTS:
        (seen,) = history(seen_by("T3+", folder.transcript, folder.server().params), client, method)
        assert seen.row()["sent"] == folder.metrics()[0]["clients"][client]["sent"]
    path = folder.transcript / "index.jsonl"
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "repeated" not in line))
    with pytest.raises(TranscriptError, match=rf"has 1 broadcasts and 5 uploads, the run had 1 and {len(sent)}"):
        refuse_lost_uploads(folder)
