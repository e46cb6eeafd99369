"""Memory of an audit with few and with many examples: a forward pass, a decoding and every attack on each, then what
the audit's page tells of the scores.

    python benchmarks/audit_memory.py [--examples 2000 20000 100000]

Each size runs in a process of its own, all at once: a tiny random model (of the tests), few images, random texts, twelve clients.
`score` is `fedrand.audit.scoring.scored` under an adapter with the attacks of the paper's family; `tell` makes the lines,
the interval family, the blind text control, the permutation and the most exposed records of them. Printed: peak memory
after each, beside what the process held before it made the examples; what the examples themselves take; and per example
what neither explains. A hundred thousand take about three minutes of processor time.

On a busy 2-core machine, 458 MB before: of 2,000 examples the peak was 486 MB after `score` and 486 MB after `tell`, of 20,000 507 and
535 MB, of 100,000 557 and 630 MB: the printed ratios of 100,000 to 2,000 were 1.14 and 1.30, 381 and 1,170 bytes for
each further example.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from memory import peak, resident

CLIENTS, IMAGES, WORDS = 12, 8, 300
TOKENS = 2  # of each description


def main() -> None:
    options = _options()
    if options.one:
        print(json.dumps(audit(options.one)))
        return
    running = {size: _process(size) for size in sorted(options.examples)}
    found: dict[int, dict[str, float]] = {}
    for size, process in running.items():
        one = found[size] = _result(process)
        print(
            f"{size:7} examples  before {one['before']:6.1f} MB  examples {one['data']:6.1f}  peak: score {one['score']:6.1f}"
            f"  tell {one['tell']:6.1f} MB  {one['seconds']:6.1f} CPU-s",
            flush=True,
        )
    few, many = found[min(found)], found[max(found)]
    more = max(found) - min(found)
    for part in ("score", "tell"):
        grown = many[part] - few[part] - (many["data"] - few["data"])
        print(
            f"{part}: memory at {max(found)} against {min(found)} {many[part] / few[part]:.2f}, "
            f"{grown * 2**20 / more:+.0f} bytes for each further example, the examples apart"
        )


def audit(size: int) -> dict[str, float]:
    """MB before and with the examples, and at most after scoring and telling; processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        world = _world(Path(folder))
        begun = time.process_time()
        _scored(world, _examples(Path(folder), 1024))  # what the first passes allocate for good
        before = resident()
        examples = _examples(Path(folder), size)
        held = resident()
        scores, attacks = _scored(world, examples)
        scored_peak = peak()
        _tell(examples, scores, attacks)
    seconds = time.process_time() - begun
    return {"before": before, "data": held - before, "score": scored_peak, "tell": peak(), "seconds": seconds}


def _world(folder: Path) -> Any:
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "engine"))
    from tiny_models import save_model

    from fedrand.datasets import Dataset
    from fedrand.lora import Adapter
    from fedrand.models import ImageFeatures, load_model
    from fedrand.models.load import quiet
    from fedrand.models.runtime import torch
    from fedrand.settings import Recipe
    from fedrand.world import World

    torch.set_num_threads(1)
    with quiet():
        vlm = load_model(str(save_model(folder / "model", "fast_vlm")))
    recipe = Recipe.model_validate({"strategy": {"name": "fedrand"}, "evaluate": {"max_new_tokens": TOKENS}})
    return World(recipe, vlm, Adapter.attach(vlm), ImageFeatures(vlm), {}, Dataset((), {}, {}))


def _examples(folder: Path, count: int) -> list[Any]:
    from PIL import Image

    from fedrand.data.example import Example, ImageSource
    from fedrand.randomness import stream

    images = [ImageSource(folder / f"{number}.png") for number in range(IMAGES)]
    for number, image in enumerate(images):
        if not image.path.exists():
            Image.new("RGB", (32, 32), (30 * number, 99, 240)).save(image.path)
    rng, made = stream(0, "texts"), []
    for number in range(count):
        text = " ".join(f"w{word}" for word in rng.integers(0, WORDS, 4))
        made.append(Example(f"e{number}", images[number % IMAGES], "coco", text, (text,)))
    return made


def _scored(world: Any, examples: list[Any]) -> tuple[Any, Any]:
    from fedrand.audit.attacks import score_attacks
    from fedrand.audit.scoring import scored

    attacks = score_attacks(world.recipe.audit.k, world.recipe.audit.attacks, examples)
    return scored(world, examples, world.initial().params, attacks), attacks


def _tell(examples: list[Any], scores: Any, attacks: Any) -> None:
    from fedrand.audit.controls import blind_text
    from fedrand.audit.exhibits import exposed
    from fedrand.audit.rows import Row, Settings, Sides, grouped, line, sampled
    from fedrand.audit.statistics import family, permuted
    from fedrand.randomness import stream

    each = -(-len(examples) // CLIENTS)
    parts = [tuple(examples[start : start + each]) for start in range(0, len(examples), each)]
    units = {f"c{n:02d}": Sides(part[::2], part[1::2]) for n, part in enumerate(parts)}
    groups, rows = grouped(units), []
    for one in attacks:
        if not one.reason:
            samples = sampled(units, lambda _, e, slot=(one.name, one.slice): scores.of(slot, e.id), groups)
            rows.append(Row("T0", "server", one.name, one.slice, samples))
    blind = blind_text(*([e for sides in units.values() for e in sides[side]] for side in (0, 1)), stream(0, "blind"))
    control = sampled(units, lambda _, e: blind[e.id], groups)
    together = family({row.name: row.samples for row in rows}, stream(0, "family"))
    for row in rows:
        line(row, control, together, stream(0, "line"), Settings(50, 0.95))
    permuted([*rows[0].samples.values()], stream(0, "permuted"))
    exposed(rows[:3], units)


def _process(size: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, __file__, "--one", str(size)], stdout=subprocess.PIPE, text=True)


def _result(process: subprocess.Popen[str]) -> dict[str, float]:
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(process.returncode)
    return json.loads(said.splitlines()[-1])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, nargs="+", default=(2_000, 20_000, 100_000))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
