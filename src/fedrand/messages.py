"""The records that pass between server and client, and what each side remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedrand.params import Key, Params


@dataclass(frozen=True)
class Download:
    """What the server sends one client at the start of a round."""

    round: int
    params: Params


@dataclass(frozen=True)
class Upload:
    """What one client sends back: the shared tensors after training, and n_k."""

    client: str
    round: int
    params: Params
    num_examples: int
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class ServerState:
    """The server's whole adapter at the start of `round`; `memory` is the aggregation's own (momentum and the like)."""

    round: int
    params: Params
    memory: Mapping[str, Params] = field(default_factory=dict[str, Params])


@dataclass(frozen=True)
class ClientState:
    """A client's whole last adapter (empty before its first round) and the rounds it took part in."""

    local: Params = field(default_factory=dict[Key, NDArray[np.floating]])
    rounds: tuple[int, ...] = ()
