"""Means over seeds with 95% intervals, from finished runs of two or more methods on the same seeds.

fedrand reproduce table2                 # makes the runs
python scripts/seed_table.py runs/reproduce/runs/captions-fed{avg,rand}-seed?
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from fedrand.reproduce.cells import cell

FIGURES = {"NLL": ("test", "nll", 1), "CIDEr-D x 100": ("test", "cider_d", 100), "NLL, ood": ("ood", "nll", 1)}


def main() -> None:
    results = [json.loads((Path(run) / "results.json").read_text()) for run in sys.argv[1:]]
    methods = defaultdict(dict)
    for found in results:
        methods[found["method"]][found["seed"]] = found
    print("| method | model |", " | ".join(FIGURES), "| upload | all traffic |")
    print("|---|---|" + "---|" * (len(FIGURES) + 2))
    for method, seeds in sorted(methods.items()):
        figures = {
            "server": [found["server"] for found in seeds.values()],
            "server - before": [_gained(found["server"], found["before"]) for found in seeds.values()],
            "clients, mean": [found["clients"]["mean"] for found in seeds.values()],
        }
        for model, some in figures.items():
            cells = [_cell(some, *where) for where in FIGURES.values()]
            traffic = [
                np.mean([f["bytes"][ratio] for f in seeds.values()]) for ratio in ("ratio_upload", "ratio_total")
            ]
            print(
                f"| {method}, seeds {sorted(seeds)} | {model} |",
                " | ".join(cells),
                f"| {traffic[0]:.2f} | {traffic[1]:.2f} |",
            )


def _gained(after: dict, before: dict) -> dict:
    names = {split: [name for at, name, _ in FIGURES.values() if at == split] for split in after.keys() & before.keys()}
    return {split: {name: after[split][name] - before[split][name] for name in some} for split, some in names.items()}


def _cell(some: list[dict], split: str, name: str, factor: float) -> str:
    """Empty where the split was not measured (`evaluate.ood`)."""
    return cell([factor * one[split][name] for one in some]).text(3) if all(split in one for one in some) else ""


if __name__ == "__main__":
    main()
