"""A client that fails costs the round its upload, and the run says whose and why; too few end it with the reasons."""

import numpy as np
import pytest
from numpy_world import CLIENTS, Walker, federation, recipe, start

from fedrand.audit.transcript import TranscriptWriter
from fedrand.federation import TooFewClients
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
