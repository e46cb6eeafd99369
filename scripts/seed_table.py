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
            "server - before": None,
            "clients, mean": [found["clients"]["mean"] for found in seeds.values()],
        }
        for model, some in figures.items():
            cells = []
            for split, name, factor in FIGURES.values():
                if some is None:
                    gains = [f["server"][split][name] - f["before"][split][name] for f in seeds.values()]
                    cells.append(cell([factor * gain for gain in gains]).text(3))
                else:
                    cells.append(cell([factor * figure[split][name] for figure in some]).text(3))
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
