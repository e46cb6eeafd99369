"""Training steps of the paper's model (OpenELM-450M behind CLIP, random weights, fp32, CPU): time and peak memory
against what `fedrand.cost` foretells from the configuration alone.

    python benchmarks/openelm.py [--steps 2] [--batch-size 8] [--threads 1]

Each side runs in a process of its own. Batches are like COCO's: 196 image tokens, a prompt of 20, answers of 9 to 16.
Needs 7.5 GB. Time is foretold at the rate of a plain matrix product, measured in the process that trains; both in processor time.

With --steps 1 on a busy 2-core machine: 3.22 TFLOP; memory 7476 MB, foretold 7577, ratio 0.987; 43.4 s a step, foretold 36.5,
ratio 1.19. A batch of 2: 12.5 s. The published weights were not used.
"""

import argparse
import json
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

from memory import peak

IMAGE_TOKENS, PROMPT = 196, 20


def main() -> None:
    options = _options()
    if options.side:
        print(json.dumps(SIDES[options.side](options)))
        return
    foretold, measured = (_in_process(side) for side in ("foretold", "measured"))
    memory = measured["empty"] + foretold["memory"]
    seconds = foretold["flops"] / measured["rate"]
    print(f"a step: {foretold['flops'] / 1e12:.2f} TFLOP, counted in {foretold['counting']:.1f} CPU-s")
    print(f"memory: {measured['peak']:.0f} MB, foretold {memory:.0f} MB, ratio {measured['peak'] / memory:.3f}")
    print(f"time:   {measured['step']:.1f} s a step, foretold {seconds:.1f} s, ratio {measured['step'] / seconds:.2f}")


def foretold(options: argparse.Namespace) -> dict[str, float]:
    from fedrand.cost import COPIES, bare_adapter, step_cost
    from fedrand.models.runtime import torch

    begun = time.process_time()
    with torch._subclasses.FakeTensorMode():
        vlm = _model()
    adapter = bare_adapter(vlm, 8)
    step = step_cost(vlm, adapter, _batch(options))
    memory = (step.resident + COPIES * adapter.flat.nbytes) / 2**20
    return {"flops": step.flops, "memory": memory, "counting": time.process_time() - begun}


def measured(options: argparse.Namespace) -> dict[str, float]:
    from fedrand.cost import measured_rate
    from fedrand.lora import Adapter
    from fedrand.models.runtime import torch
    from fedrand.randomness import stream
    from fedrand.train import TrainSettings, train

    torch.set_num_threads(options.threads)
    rate, empty = measured_rate(), peak()
    vlm = _model()
    adapter, encoded = Adapter.attach(vlm, 8), _batch(options)

    def features(images: list[str]) -> list[torch.Tensor]:
        return [torch.randn(IMAGE_TOKENS, vlm.model.config.text_config.model_dim) for _ in images]

    settings = TrainSettings(batch_size=options.batch_size, epochs=options.steps)
    start, keys = adapter.initial(stream(0, "adapter")), frozenset(adapter.keys)
    begun = time.process_time()
    train(vlm, adapter, features, encoded, start, keys, settings, stream(0, "order"))
    seconds = (time.process_time() - begun) / options.steps / options.threads
    return {"rate": max(rate, measured_rate()), "empty": empty, "peak": peak(), "step": seconds}


SIDES = {"foretold": foretold, "measured": measured}


def _model() -> Any:
    from fedrand.models import VisionLanguageModel
    from fedrand.models.encoding import OneLength
    from fedrand.models.fast import Fast
    from fedrand.models.tinyllava import TinyLlavaConfig, TinyLlavaForConditionalGeneration

    tokenizer = SimpleNamespace(pad_token_id=2, eos_token_id=2)
    processor = SimpleNamespace(tokenizer=tokenizer, image_token="<unk>")
    model = TinyLlavaForConditionalGeneration(TinyLlavaConfig())
    path = Fast(model, processor, OneLength("<unk>", 0, IMAGE_TOKENS))
    return VisionLanguageModel(model, processor, "OpenELM-450M", path)


def _batch(options: argparse.Namespace) -> list[Any]:
    from fedrand.models import Encoded
    from fedrand.randomness import stream

    rng, made = stream(0, "texts"), []
    for number in range(options.batch_size):
        ids = rng.integers(3, 32000, IMAGE_TOKENS + PROMPT + rng.integers(9, 17))
        ids[5 : 5 + IMAGE_TOKENS] = 0
        made.append(Encoded(str(number), ids, IMAGE_TOKENS + PROMPT, f"image {number}"))
    return made


def _in_process(side: str) -> dict[str, float]:
    command = [sys.executable, __file__, *sys.argv[1:], "--side", side]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
