"""How a round's uploads become the next server state (paper, equations 8-10)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fedrand.messages import ServerState, Upload


class Aggregation(Protocol):
    def step(self, server: ServerState, uploads: Sequence[Upload]) -> ServerState: ...


@dataclass(frozen=True)
class Average:
    """Per key, the n_k-weighted mean over the clients that sent it; a key nobody sent keeps its value, as does one that
    fewer than `min_group` sent: an average over one client is that client's own tensor, broadcast to all.

    With `normalize=False` (the paper's ablation) the weights are n_k / m_r over everyone who took part, so a half
    that only some sent shrinks. Summed in float64 in the order of client names, returned in the server's own dtype.
    """

    normalize: bool = True
    min_group: int = 1

    def step(self, server: ServerState, uploads: Sequence[Upload]) -> ServerState:
        ordered = sorted(uploads, key=lambda upload: upload.client)
        everyone = sum(upload.num_examples for upload in ordered)
        params = dict(server.params)
        for key, old in server.params.items():
            senders = [upload for upload in ordered if key in upload.params]
            if len(senders) < max(1, self.min_group):
                continue
            weight = sum(upload.num_examples for upload in senders) if self.normalize else everyone
            total = np.zeros(old.shape, np.float64)
            for upload in senders:
                total += upload.params[key].astype(np.float64) * upload.num_examples
            params[key] = (total / weight).astype(old.dtype)
        return replace(server, round=server.round + 1, params=params)
