"""Peak memory of a whole federation with few and with many clients: one base model for all, only adapters grow.

    python benchmarks/clients.py [--model tiny] [--clients 12 200]

Each size runs in a process of its own: rounds of four clients, one step each, until all but a few clients have taken
part, adapters kept in RAM. Printed: peak memory, the adapters held at the end, and the growth that they do not explain.
"""

import argparse
import json
import subprocess
import sys

from memory import peak

PER_ROUND, EXAMPLES, PER_CLIENT = 4, 96, 8


def main() -> None:
    options = _options()
    if options.one:
        print(json.dumps(federation(options.model, options.one)))
        return
    found = {size: _in_process(options.model, size) for size in options.clients}
    for size, figures in found.items():
        print(f"{size:5} clients  peak {figures['peak']:7.1f} MB  adapters held {figures['adapters']:6.1f} MB")
    few, many = found[min(found)], found[max(found)]
    grown = many["peak"] - few["peak"] - (many["adapters"] - few["adapters"])
    print(f"growth that adapters do not explain: {grown:+.1f} MB")


def federation(model: str, clients: int) -> dict[str, float]:
    """Peak and adapters, MB, after enough rounds for nearly every client to have an adapter of its own."""
    from fedrand.data import load_emoji
    from fedrand.federation import Federation, Memory, initial_server
    from fedrand.lora import Adapter
    from fedrand.models import ImageFeatures, load_model
    from fedrand.params import num_bytes
    from fedrand.randomness import stream
    from fedrand.strategies import fedrand
    from fedrand.train import LocalLearner, TrainSettings

    vlm = load_model(model)
    adapter, features = Adapter.attach(vlm), ImageFeatures(vlm)
    pool = [vlm.encode(example) for example in load_emoji()["federated"][:EXAMPLES]]
    features.prepare(one.image for one in pool)
    settings = TrainSettings(lr=1e-3)
    learners = {}
    for number in range(clients):
        own = stream(0, "deal", number).choice(EXAMPLES, PER_CLIENT, replace=False)
        learners[f"c{number:03d}"] = LocalLearner(vlm, adapter, features, [pool[index] for index in own], settings)
    shelf = Memory()
    server = initial_server(learners["c000"], seed=0)
    for _ in Federation(fedrand(), learners, PER_ROUND, seed=0).rounds(server, shelf, until=clients // 2):
        pass
    held = sum(num_bytes(state.local) for states in shelf.states.values() for state in states)
    return {"peak": peak(), "adapters": held / 2**20}


def _in_process(model: str, size: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--model", model, "--one", str(size)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--clients", type=int, nargs=2, default=(12, 200))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
