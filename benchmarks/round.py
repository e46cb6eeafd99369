"""A client's round on the engine and on the plain PEFT loop: time and peak memory, as ratios of one run.

    python benchmarks/round.py [--model tiny] [--examples 64] [--batch-size 8] [--threads 1] [--repeats 3]

Each side runs in processes of its own, by turns. A round is one epoch over one client's examples, steady state (the
engine's image features are there from the first round on; their cost is shown by itself). Times are CPU seconds, the
least of all repeats: other programs on the machine do not count.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from memory import peak

RANK, SCALE, LR, DECAY = 8, 1.0, 1e-3, 1e-6
ROUNDS = 3  # per process


def main() -> None:
    options = _options()
    if options.side:
        print(json.dumps(SIDES[options.side](options)))
        return
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(options.repeats):
        for side in SIDES:
            runs[side].append(_in_process(side))
    best = {side: {name: min(run[name] for run in some) for name in some[0]} for side, some in runs.items()}
    steps = -(-options.examples // options.batch_size)
    for side, figures in best.items():
        per_step = figures["round"] / steps * 1e3
        print(
            f"{side:7} {figures['round']:7.3f} CPU-s a round  {per_step:6.1f} ms a step  peak {figures['peak']:6.0f} MB"
        )
    ours, plain = best["engine"], best["plain"]
    print(f"once    {ours['once']:7.3f} CPU-s for the image features of {options.examples} examples")
    print(f"plain / engine: time {plain['round'] / ours['round']:.2f}, peak memory {plain['peak'] / ours['peak']:.2f}")


def engine_side(options: argparse.Namespace) -> dict[str, float]:
    from fedrand.lora import Adapter
    from fedrand.models import ImageFeatures, load_model
    from fedrand.randomness import stream
    from fedrand.train import TrainSettings, train

    vlm = load_model(options.model)
    adapter, features = Adapter.attach(vlm, RANK, SCALE), ImageFeatures(vlm)
    encoded = [vlm.encode(example) for example in _examples(options)]
    once = _seconds(lambda: features.prepare(one.image for one in encoded))
    start, keys = adapter.initial(stream(0, "adapter")), frozenset(adapter.keys)
    settings = TrainSettings(LR, DECAY, options.batch_size)
    times = [
        _seconds(lambda: train(vlm, adapter, features, encoded, start, keys, settings, stream(0, "order")))
        for _ in range(ROUNDS)
    ]
    return {"round": min(times), "once": once, "peak": peak()}


def plain_side(options: argparse.Namespace) -> dict[str, float]:
    from reference_loop import PlainLoop

    from fedrand.models.load import SHIPPED, quiet
    from fedrand.randomness import stream
    from fedrand.train import TrainSettings, order

    examples, settings = _examples(options), TrainSettings(LR, DECAY, options.batch_size)
    with quiet():
        loop = PlainLoop.load(str(SHIPPED.get(options.model, options.model)), RANK, SCALE)

    def one_round() -> None:
        loop.train(examples, order(len(examples), settings, stream(0, "order")), LR, DECAY)

    return {"round": min(_seconds(one_round) for _ in range(ROUNDS)), "once": 0.0, "peak": peak()}


SIDES = {"engine": engine_side, "plain": plain_side}


def _examples(options: argparse.Namespace) -> Any:
    from fedrand.data import load_emoji
    from fedrand.models.runtime import torch

    torch.set_num_threads(options.threads)
    return load_emoji()["federated"][: options.examples]


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _in_process(side: str) -> dict[str, float]:
    command = [sys.executable, __file__, *sys.argv[1:], "--side", side]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore::FutureWarning"}  # PEFT's, at every load
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--examples", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
