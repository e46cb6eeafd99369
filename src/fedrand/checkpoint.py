"""The server's state as one file: its adapter, the aggregation's own memory, and the round it stands before."""

from pathlib import Path

from fedrand.messages import ServerState
from fedrand.params import Key
from fedrand.tensorfile import read_tensors, write_tensors

MEMORY = "memory/"  # before the layer of a tensor that is the aggregation's own: "memory/momentum/layers.0.q_proj"


def write_server(path: Path, server: ServerState) -> None:
    """Replace the file at `path` by `server`, whole."""
    memory = {
        Key(f"{MEMORY}{name}/{key.layer}", key.factor): value
        for name, params in server.memory.items()
        for key, value in params.items()
    }
    write_tensors(path, {**server.params, **memory}, {"round": server.round})


def read_server(path: Path) -> ServerState:
    """Inverse of `write_server`; TensorFileError when the file is not whole."""
    tensors, header = read_tensors(path)
    params = {key: value for key, value in tensors.items() if not key.layer.startswith(MEMORY)}
    memory: dict[str, dict] = {}
    for key in sorted(tensors.keys() - params.keys()):
        name, _, layer = key.layer.removeprefix(MEMORY).partition("/")
        memory.setdefault(name, {})[Key(layer, key.factor)] = tensors[key]
    return ServerState(int(header["round"]), params, memory)
