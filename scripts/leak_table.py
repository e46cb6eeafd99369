"""What leaked over seeds: means with 95% intervals from audited runs, one row per kind of run.

python scripts/leak_table.py runs/fedavg-[012] runs/fedrand-[012]     # a kind is a folder's name without its number
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from fedrand.reproduce.cells import cell

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
    rungs = {rung["rung"]: rung["distance"] for rung in audit["ladder"]}
    known, lone = audit["knowledge"], audit["singletons"]
    found["uploads whose whole start the server knew, share"] = known["start_known"] / max(1, known["uploads"])
    found["halves with a lone sender, of these recovered bit for bit"] = sum(one["recovered"] for one in lone)
    found["rebuilt client's distance to the truth"] = rungs.get("R1")
    found["server's NLL, test"] = results["server"]["test"]["nll"]
    found["server's CIDEr-D x 100, test"] = 100 * results["server"]["test"]["cider_d"]
    return {name: value for name, value in found.items() if value is not None}


def main() -> None:
    kinds: dict[str, list[dict[str, float]]] = defaultdict(list)
    for name in sys.argv[1:]:
        kinds[re.sub(r"[-_]?(seed)?\d+$", "", Path(name).name)].append(figures(Path(name)))
    lines = dict.fromkeys(name for runs in kinds.values() for run in runs for name in run)
    print("| |", " | ".join(f"{kind} ({len(runs)} seeds)" for kind, runs in kinds.items()), "|")
    print("|---|" + "---|" * len(kinds))
    for line in lines:
        cells = [[run[line] for run in runs if line in run] for runs in kinds.values()]
        print(f"| {line} |", " | ".join(cell(values).text(3) if values else "" for values in cells), "|")


if __name__ == "__main__":
    main()
