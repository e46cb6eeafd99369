"""Means over seeds with 95% intervals, from finished runs of two or more methods on the same seeds.

for seed in 0 1 2; do for method in fedavg fedrand; do
    fedrand run emoji --set seed=$seed --set strategy.name=$method --out runs/$method-$seed; done; done
python scripts/seed_table.py runs/*-[0-9]
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

FIGURES = {"NLL": ("test", "nll", 1), "CIDEr-D x 100": ("test", "cider_d", 100), "NLL, ood": ("ood", "nll", 1)}
T_975 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # Student's t for that many seeds


def cell(values: Sequence[float]) -> str:
    """Mean and half-width of the 95% interval over seeds."""
    half = T_975[len(values)] * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.3f} ± {half:.3f}"


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
            "server - before": None,
            "clients, mean": [found["clients"]["mean"] for found in seeds.values()],
        }
        for model, some in figures.items():
            cells = []
            for split, name, factor in FIGURES.values():
                if some is None:
                    gains = [f["server"][split][name] - f["before"][split][name] for f in seeds.values()]
                    cells.append(cell([factor * gain for gain in gains]))
                else:
                    cells.append(cell([factor * figure[split][name] for figure in some]))
            traffic = [
                np.mean([f["bytes"][ratio] for f in seeds.values()]) for ratio in ("ratio_upload", "ratio_total")
            ]
            print(
                f"| {method}, seeds {sorted(seeds)} | {model} |",
                " | ".join(cells),
                f"| {traffic[0]:.2f} | {traffic[1]:.2f} |",
            )


if __name__ == "__main__":
    main()
