"""The one door through which uploads reach the server: what does not fit is refused by client, key and reason."""

from collections.abc import Collection

import numpy as np

from fedrand.messages import ServerState, Upload
from fedrand.params import Key, Params
from fedrand.strategy import Strategy


class Refused(ValueError):
    """An upload the server does not take: which client, which tensor (if one), why."""

    def __init__(self, client: str, reason: str, key: Key | None = None) -> None:
        self.client, self.reason, self.key = client, reason, key
        where = f"tensor {key}: " if key else ""
        super().__init__(f"upload of client '{client}' refused: {where}{reason}")


def admit(
    upload: Upload, server: ServerState, strategy: Strategy, selected: Collection[str], taken: Collection[str]
) -> Upload:
    """Return the upload when it fits this round, else raise Refused.

    selected: clients asked in this round; taken: clients whose upload was already admitted in it.
    """
    _check_sender(upload, server, selected, taken)
    _check_count(upload)
    for key in sorted(upload.params):
        if reason := tensor_fault(key, upload.params, server.params):
            raise Refused(upload.client, reason, key)
    if reason := strategy.sharing.fault(frozenset(server.params), frozenset(upload.params), server.round):
        raise Refused(upload.client, reason)
    return upload


def _check_sender(upload: Upload, server: ServerState, selected: Collection[str], taken: Collection[str]) -> None:
    if upload.round != server.round:
        raise Refused(upload.client, f"it is for round {upload.round}, this is round {server.round}")
    if upload.client not in selected:
        raise Refused(upload.client, f"the client was not asked in round {server.round}")
    if upload.client in taken:
        raise Refused(upload.client, f"a second copy for round {server.round}")


def _check_count(upload: Upload) -> None:
    count = upload.num_examples
    if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
        raise Refused(upload.client, f"num_examples is {count!r}, must be a whole number above 0")


def tensor_fault(key: Key, sent: Params, known: Params) -> str | None:
    """Why one tensor of an upload cannot be averaged with the server's; None when it can."""
    if key not in known:
        return "unknown; the server holds no such tensor"
    value, expected = sent[key], known[key]
    if value.dtype != expected.dtype:
        return f"dtype {value.dtype}, expected {expected.dtype}"
    if value.shape != expected.shape:
        return f"shape {value.shape}, expected {expected.shape}"
    if not np.isfinite(value).all():
        return f"{int(np.count_nonzero(~np.isfinite(value)))} values are NaN or Inf"
    return None
