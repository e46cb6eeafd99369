"""What a round leaves in ledger.csv and metrics.jsonl: who sent which part, losses, and bytes as serialised."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fedrand.federation import Round
from fedrand.messages import Download, Upload
from fedrand.params import Keys
from fedrand.round import Outcome
from fedrand.tensorfile import to_bytes

HEADER = "round,client,direction,part,tensors,bytes"


def part(sent: Keys, known: Keys) -> str:
    """Which part of the adapter a message holds: "none", "all", factors such as "A" or "A2+B2" of every layer, every
    factor of some "layers", or "mixed"."""
    if not sent or sent >= known:
        return "all" if sent else "none"
    factors, layers = sorted({key.factor for key in sent}), {key.layer for key in sent}
    if sent == {key for key in known if key.factor in factors}:
        return "+".join(factors)
    return "layers" if sent == {key for key in known if key.layer in layers} else "mixed"


class Row(NamedTuple):
    """One message; `bytes` is the length of its safetensors form, header and all."""

    round: int
    client: str
    direction: str
    part: str
    tensors: int
    bytes: int

    @classmethod
    def parse(cls, line: str) -> "Row":
        round, client, direction, part, tensors, size = line.split(",")
        return cls(int(round), client, direction, part, int(tensors), int(size))

    def __str__(self) -> str:
        return ",".join(map(str, self))

    @classmethod
    def of(cls, client: str, message: Download | Upload, known: Keys) -> "Row":
        """A message as sent. known: the keys that the server holds."""
        keys, header, direction = frozenset(message.params), {"round": message.round}, "download"
        if isinstance(message, Upload):
            header |= {"client": message.client, "num_examples": message.num_examples}
            direction = "upload"
        size = len(to_bytes(message.params, header))
        return cls(message.round, client, direction, part(keys, known), len(keys), size)


def rows(round: Round) -> list[Row]:
    """Every message of the round: what was refused was sent, and so was what a repeated attempt had sent before."""
    known = frozenset(round.before.params)
    return [Row.of(client, message, known) for client, message in round.messages]


def metrics(round: Round, messages: Sequence[Row]) -> dict[str, Any]:
    """The round's line of metrics.jsonl, its bytes those of `messages`. `clients` are the admitted ones; `nobody_sent` kept
    their value."""
    known = frozenset(round.before.params)
    sent: Keys = frozenset().union(*(upload.params for upload in round.admitted))
    names = {upload.client for upload in round.admitted}
    size = {way: sum(row.bytes for row in messages if row.direction == way) for way in ("upload", "download")}
    weights = [upload.num_examples for upload in round.admitted]
    losses = [upload.metrics.get("loss_mean", float("nan")) for upload in round.admitted]
    return {
        "round": round.before.round,
        "selected": list(round.selected),
        "clients": {o.upload.client: _client(o, known) for o in round.outcomes if o.upload.client in names},
        "loss_mean": float(np.average(losses, weights=weights)) if np.isfinite(losses).all() else None,
        "nobody_sent": {"part": part(known - sent, known), "tensors": len(known - sent)},
        "refused": [
            {"client": r.client, "key": str(r.key) if r.key else None, "reason": r.reason} for r in round.refused
        ],
        "bytes": size,
        "seconds": round.seconds,
    }


def _client(outcome: Outcome, known: Keys) -> dict[str, Any]:
    upload = outcome.upload
    return {
        "sent": part(frozenset(upload.params), known),
        "num_examples": upload.num_examples,
        **{name: float(value) for name, value in upload.metrics.items()},
    }


def totals(messages: Sequence[Row], full: int, tensors: int) -> dict[str, float | int]:
    """Bytes of the run against FedAvg's over the same rounds and clients, where every message holds the whole adapter.

    full: bytes of one whole-adapter message; tensors: how many it holds. `keys_sent_fraction`: tensors sent up, of
    all that FedAvg would send up. `repeated`: bytes, of the total, of what a client got or sent again in one round,
    because the run was stopped in it or the round was repeated.
    """
    ups = [row for row in messages if row.direction == "upload"]
    upload, total = sum(row.bytes for row in ups), sum(row.bytes for row in messages)
    once = {(row.round, row.client, row.direction): row.bytes for row in messages}
    fedavg_upload, fedavg_total = (sum(_whole(row, full) for row in some) for some in (ups, messages))
    return {
        "upload": upload,
        "download": total - upload,
        "total": total,
        "repeated": total - sum(once.values()),
        "keys_sent_fraction": sum(row.tensors for row in ups) / (tensors * max(len(ups), 1)),
        "fedavg_upload": fedavg_upload,
        "fedavg_total": fedavg_total,
        "ratio_upload": upload / max(fedavg_upload, 1),
        "ratio_total": total / max(fedavg_total, 1),
    }


def _whole(row: Row, full: int) -> int:
    return row.bytes if row.part == "all" else full
