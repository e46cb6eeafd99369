"""What the server can put together, on a transcript written by hand."""

import numpy as np
import pytest

from fedrand.audit.knowledge import Seen, history, probe
from fedrand.audit.ladder import rebuilt
from fedrand.audit.transcript import TranscriptError, TranscriptWriter, oracle, transcript
from fedrand.audit.views import View, seen_by
from fedrand.federation import Round
from fedrand.messages import ClientState, ServerState, Upload
from fedrand.params import Key
from fedrand.round import Outcome
from fedrand.strategies import fedrand
from fedrand.strategy import Split

A, B = Key("q", "A"), Key("q", "B")


def params(a: float, b: float):
    return {A: np.full(2, a, np.float32), B: np.full(2, b, np.float32)}


def played(number: int, server: tuple[float, float], client: tuple[float, float], factor: Key) -> Round:
    """A round in which client c starts at `server`, ends at `client` and sends one factor."""
    before, after = ServerState(number, params(*server)), ServerState(number + 1, params(*server))
    local = params(*client)
    upload = Upload("c", number, {factor: local[factor]}, 5)
    outcome = Outcome(upload, ClientState(local, (number,)), Split(frozenset({factor})), before.params)
    return Round(before, after, ("c",), (outcome,), (upload,), (), 0.0)


def view(folder, final=(7, 70)) -> View:
    return seen_by("T3", folder, params(*final), "c")


def last(folder, strategy) -> Seen:
    return [*history(view(folder), "c", strategy)][-1]


@pytest.fixture
def written(tmp_path):
    writer = TranscriptWriter(tmp_path)
    writer.record(played(0, (0, 0), (1, 10), A))
    writer.record(played(3, (5, 50), (2, 20), B))
    writer.record(played(7, (6, 60), (3, 30), B))
    return tmp_path


def test_the_rebuilt_client_is_its_newest_half_and_the_newest_other_half(written):
    found = rebuilt(view(written))
    assert found.params[B].tolist() == [30, 30] and found.age[B] == 0
    assert found.params[A].tolist() == [1, 1] and found.age[A] == 7


def test_a_half_never_sent_is_the_servers_of_that_round(tmp_path):
    TranscriptWriter(tmp_path).record(played(4, (5, 50), (2, 20), B))
    found = rebuilt(view(tmp_path))
    assert found.params[A].tolist() == [5, 5] and found.age[A] is None


def test_the_last_update_starts_at_the_broadcast_and_at_the_clients_own_other_half(written):
    update = last(written, fedrand())
    assert update.change[B].tolist() == [30, 30]  # 60 - 30
    assert update.start[A].value.tolist() == [1, 1] and update.exact == {B}  # the A of round 3 was never sent


def test_a_client_that_switched_halves_began_at_a_known_adapter(tmp_path):
    writer = TranscriptWriter(tmp_path)
    writer.record(played(0, (0, 0), (1, 10), A))
    writer.record(played(1, (5, 50), (2, 20), B))
    update = last(tmp_path, fedrand())
    assert (
        update.switched
        and update.exact == {A, B}
        and update.start[A].value.tolist() == [1, 1]
        and update.start[B].value.tolist() == [50, 50]
    )


def test_a_method_that_forgets_the_past_begins_at_the_broadcast(written):
    update = last(written, fedrand(past=False))
    assert (
        update.exact == {A, B}
        and update.start[A].value.tolist() == [6, 6]
        and update.start[B].value.tolist() == [60, 60]
    )


def test_a_fresh_private_half_is_not_called_known(tmp_path):
    TranscriptWriter(tmp_path).record(played(4, (5, 50), (2, 20), B))
    assert last(tmp_path, fedrand()).exact == {A, B}
    assert last(tmp_path, fedrand(first="fresh")).exact == {B}


def test_where_each_client_draws_its_own_start_only_its_zeros_are_known(tmp_path):
    TranscriptWriter(tmp_path).record(played(0, (5, 50), (2, 20), B))
    update = last(tmp_path, fedrand(round0="independent"))
    assert update.exact == {B} and update.start[B].value.tolist() == [0, 0] and update.start[A].age is None


def test_gradients_where_b_starts_at_zero_are_taken_at_the_servers_next_one(tmp_path):
    TranscriptWriter(tmp_path).record(played(0, (1, 0), (2, 20), A))
    update = last(tmp_path, fedrand())
    at = probe(view(tmp_path), update)
    assert at[B].tolist() == [70, 70] and at[A].tolist() == [1, 1] and update.exact == {A, B}
    TranscriptWriter(tmp_path).record(played(1, (3, 30), (2, 20), B))  # another broadcast, nearer than the final one
    first = next(history(view(tmp_path), "c", fedrand()))
    assert probe(view(tmp_path), first)[B].tolist() == [30, 30]


@pytest.mark.parametrize("change", [("upload.c", "oracle/c"), ('"round": 3', '"round": "x"'), ('"kind": ', '"sort": ')])
def test_an_altered_index_is_named_and_reaches_nothing(written, change):
    path = written / "index.jsonl"
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(TranscriptError, match=r"index\.jsonl"):
        _ = transcript(written).entries


def test_a_reader_of_messages_cannot_open_the_oracle(written):
    hidden = next(iter(oracle(written).of("oracle", "c")))
    with pytest.raises(PermissionError):
        transcript(written).read(hidden)
    assert list(transcript(written).of("oracle", "c")) == []


def test_an_altered_or_missing_file_is_named(written):
    index = transcript(written)
    first = next(index.of("upload", "c"))
    path = written / first.file
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(TranscriptError, match=r"upload\.c\.safetensors.*altered"):
        index.read(first)
    path.unlink()
    with pytest.raises(TranscriptError, match=r"upload\.c\.safetensors.*missing"):
        index.read(first)


def test_truncating_drops_a_round_and_what_follows(written):
    TranscriptWriter(written).truncate(3)
    assert [entry.round for entry in transcript(written).of("upload", "c")] == [0]
    assert sorted(path.name for path in written.glob("r*")) == ["r0000"]
