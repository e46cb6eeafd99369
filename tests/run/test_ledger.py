"""The ledger holds what really travelled: also what a round that was cut off or repeated had sent before."""

from dataclasses import replace

import numpy as np
import pytest
from numpy_world import CLIENTS, SHAPES, Walker, federation, go_on, recipe, start

from fedrand.audit.transcript import TranscriptWriter
from fedrand.federation import Memory, initial_server, select_clients
from fedrand.ledger import Row, rows, totals
from fedrand.progress import Progress
from fedrand.recorded import federate
from fedrand.round import ClientError
from fedrand.tensorfile import to_bytes

MADE = recipe("strategy.name=fedavg")
ROUND, WHOLE = 1, {key: np.zeros(shape, np.float32) for key, shape in SHAPES.items()}


class Killed(BaseException):
    """What stops the process in the middle of a round."""


class Stops(Walker):
    """Trains until a round, in which it stops everything, or only itself."""

    def __init__(self, error):
        super().__init__(10)
        self.error = error

    def train(self, *given):
        raise self.error


def size(client, direction, round):
    """Bytes of a message of FedAvg, by its own form."""
    header = {"round": round}
    if direction == "upload":
        header |= {"client": client, "num_examples": 10 + CLIENTS.index(client)}
    return len(to_bytes(WHOLE, header))


def sent(round, client, *directions):
    return [Row(round, client, way, "all", len(SHAPES), size(client, way, round)) for way in directions]


def test_what_a_round_that_was_cut_off_had_sent_is_in_the_ledger_and_in_every_figure(tmp_path):
    folder, whole = start(tmp_path / "run", MADE), start(tmp_path / "whole", MADE)
    go_on(folder, ROUND)
    first, second, third = sorted(select_clients(CLIENTS, 3, ROUND, MADE.seed))
    players = federation(MADE)
    broken = replace(players, learners={**players.learners, third: Stops(Killed())})
    with pytest.raises(Killed):
        federate(folder, broken, TranscriptWriter(folder.transcript), 4, Progress())
    lost = [*sent(ROUND, first, "download", "upload"), *sent(ROUND, second, "download", "upload")]
    lost += sent(ROUND, third, "download")
    assert folder.ledger()[6:] == lost
    go_on(folder)
    go_on(whole)
    once = whole.ledger()
    assert folder.ledger() == once[:6] + lost + once[6:]
    line, usual = folder.metrics()[ROUND]["bytes"], whole.metrics()[ROUND]["bytes"]
    for way in ("upload", "download"):
        assert line[way] - usual[way] == sum(row.bytes for row in lost if row.direction == way)
    found, full = totals(folder.ledger(), len(to_bytes(WHOLE, {})), len(SHAPES)), sum(row.bytes for row in once)
    assert found["total"] == found["fedavg_total"] == full + sum(row.bytes for row in lost)
    assert found["total"] == sum(sum(line["bytes"].values()) for line in folder.metrics())
    assert found["repeated"] == sum(row.bytes for row in lost)
    assert totals(once, full, len(SHAPES))["repeated"] == 0


def test_a_message_whose_line_was_torn_is_cut_and_the_round_goes_on(tmp_path):
    folder = start(tmp_path / "run", MADE)
    go_on(folder, ROUND)
    with (folder.path / "ledger.csv").open("a") as file:
        file.write("".join(f"{row}\n" for row in sent(ROUND, CLIENTS[0], "download")) + "1,c01,downl")
    go_on(folder, ROUND + 1)
    assert folder.ledger()[6:7] == sent(ROUND, CLIENTS[0], "download") and len(folder.ledger()) == 6 + 1 + 6


def test_what_a_repeated_attempt_and_a_client_that_broke_had_passed_is_counted():
    """Of the first three clients one breaks, so all of the round is asked of three others: two of them are asked twice."""
    players = replace(federation(MADE), min_clients=3)
    first, again = (select_clients(CLIENTS, 3, 0, MADE.seed, attempt) for attempt in range(2))
    (breaks, *_) = set(first) - set(again)
    assert set(first) & set(again)
    learners = {**players.learners, breaks: Stops(ClientError("the loss is NaN"))}
    server = initial_server(players.learners[CLIENTS[0]], MADE.seed)
    done = next(replace(players, learners=learners).rounds(server, Memory(), until=1))
    expected = []
    for names in (first, again):
        for name in sorted(names):
            expected += sent(0, name, *(("download",) if name == breaks else ("download", "upload")))
    assert rows(done) == expected
    assert sum(row.direction == "upload" for row in expected) == 5
