"""A federation whose rounds are written down as they happen."""

from collections.abc import Callable, Mapping
from typing import Any

from fedrand.federation import Federation
from fedrand.ledger import Row
from fedrand.messages import Download, ServerState, Upload
from fedrand.progress import Progress
from fedrand.runfolder import RunFolder, Transcript


def federate(
    folder: RunFolder,
    federation: Federation,
    transcript: Transcript,
    until: int,
    progress: Progress,
    figures: Callable[[ServerState], Mapping[str, Any]] = lambda server: {},
) -> ServerState:
    """Go on from the folder's last whole round up to `until`; each round is on the disk before the next begins.

    `figures` of the server after a round go into its line of metrics.jsonl.
    """
    server = folder.cut(transcript)
    known = frozenset(server.params)
    sent = [row for row in folder.ledger() if row.round == server.round]  # by an attempt at this round that was cut off

    def passed(client: str, message: Download | Upload) -> None:
        sent.append(Row.of(client, message, known))
        folder.note(sent[-1])

    for done in federation.rounds(server, folder.shelf(), until, passed):
        server = done.after
        line = folder.record(done, sent, transcript, **figures(server))
        sent.clear()
        for refused in line["refused"]:
            progress.say(f"round {line['round']}: upload of {refused['client']} refused: {refused['reason']}")
        progress.step("rounds", server.round, until, _note(line))
    return server


def _note(line: Mapping[str, Any]) -> str:
    loss = "" if line["loss_mean"] is None else f"loss {line['loss_mean']:.3f}, "
    sent = ", ".join(f"{name} {client['sent']}" for name, client in line["clients"].items())
    return f"{loss}sent: {sent}"
