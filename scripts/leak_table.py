"""What leaked over seeds: means with 95% intervals from audited runs, a column per kind of run, and each kind's difference
to the first, paired by seed.

python scripts/leak_table.py runs/fedavg-[012] runs/fedrand-[012]     # a kind is a folder's name without its number, the seed
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from fedrand.reproduce.cells import cell, difference

ROWS = {
    "T0 server's model, reference": ("server", "reference", "answer"),
    "T1 two broadcasts, gradient cosine": ("update", "gradient cosine", "last aggregate"),
    "T1 harvested halves, gradient cosine": ("update", "gradient cosine", "harvested halves"),
    "T3 rebuilt client, reference": ("client", "reference", "answer"),
    "T3 rebuilt client, LiRA": ("client", "LiRA", "answer"),
    "T3 last upload, gradient cosine": ("update", "gradient cosine", "last upload"),
    "T3 several uploads, gradient cosine": ("update", "gradient cosine", "uploads"),
    "T3 several uploads, span of A": ("update", "span of A", "uploads"),
    "T3+ FedMIA by the cosine": ("update", "FedMIA cosine", "uploads"),
    "true client, reference (calibration)": ("oracle", "reference", "answer"),
    "blind text (control)": ("controls", "blind_text", ""),
    "blind image (control)": ("controls", "blind_image", ""),
}


def auroc(audit: dict[str, Any], model: str, attack: str, slice: str) -> float | None:
    """An attack's AUROC under P1; a slice "uploads" stands for however many were looked at."""
    if model == "controls":
        return audit["controls"].get(attack, {}).get("auroc")
    for row in audit["protocols"]["P1"]["rows"]:
        same = row["slice"] == slice or (slice == "uploads" and row["slice"].endswith("uploads"))
        if (row["model"], row["attack"]) == (model, attack) and same and row["applies"]:
            return row["auroc"]
    return None


def figures(run: Path) -> dict[str, float]:
    """Everything this table knows of one run."""
    audit, results = (json.loads((run / name).read_text()) for name in ("audit.json", "results.json"))
    found = {name: auroc(audit, *where) for name, where in ROWS.items()}
    harvested = [
        row for row in audit["protocols"]["P1"]["rows"] if row["slice"] == "harvested halves" and row["applies"]
    ]
    for row in harvested:
        found["T1 harvested halves, over the blind classifier"] = (row["over_blind"] or {}).get("value")
    rungs = {rung["rung"]: rung["distance"] for rung in audit["ladder"]}
    known, lone = audit["knowledge"], audit["singletons"]
    found["uploads whose whole start the server knew, share"] = known["start_known"] / max(1, known["uploads"])
    found["halves with a lone sender, of these recovered bit for bit"] = sum(one["recovered"] for one in lone)
    found["rebuilt client's distance to the truth"] = rungs.get("R1")
    found["server's NLL, test"] = results["server"]["test"]["nll"]
    found["server's CIDEr-D x 100, test"] = 100 * results["server"]["test"]["cider_d"]
    return {name: value for name, value in found.items() if value is not None}


def main() -> None:
    kinds: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)
    for run in map(Path, sys.argv[1:]):
        kind, seed = re.fullmatch(r"(.*?)[-_]?(?:seed)?(\d+)", run.name).groups()  # type: ignore[union-attr]
        kinds[kind][int(seed)] = figures(run)
    lines = dict.fromkeys(name for runs in kinds.values() for run in runs.values() for name in run)
    first, *others = kinds
    heads = [
        *(f"{kind} ({len(runs)} seeds)" for kind, runs in kinds.items()),
        *(f"{kind} - {first}" for kind in others),
    ]
    print("| |", " | ".join(heads), "|")
    print("|---|" + "---|" * len(heads))
    for line in lines:
        each = {kind: {seed: run[line] for seed, run in runs.items() if line in run} for kind, runs in kinds.items()}
        cells = [cell(list(values.values())) if values else None for values in each.values()]
        cells += [difference(each[kind], each[first]) for kind in others]
        print(f"| {line} |", " | ".join(one.text(3) if one else "" for one in cells), "|")


if __name__ == "__main__":
    main()
