"""The scripts that print the tables of README and docs/privacy.md, on runs whose figures are known."""

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
if not SCRIPTS.is_dir():
    pytest.skip("scripts are not part of a source distribution", allow_module_level=True)


def lines(monkeypatch, capsys, script, *runs):
    """first cell and others -> the script's rows."""
    monkeypatch.setattr(sys, "argv", [script, *map(str, runs)])
    runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in capsys.readouterr().out.splitlines()]


def write(folder: Path, method: str, seed: int, nll: float, row: dict | None = None) -> Path:
    """A run whose clients were not measured out of domain; `row`: of P1."""
    figures = {split: {"nll": nll + shift, "cider_d": 0.5} for split, shift in (("test", 0), ("ood", 1))}
    before = {split: {"nll": 5.0, "cider_d": 0.4} for split in figures}
    clients = {"mean": {"test": figures["test"]}}
    ratios = {"ratio_upload": 0.5, "ratio_total": 0.75}
    results = {"method": method, "seed": seed, "before": before, "server": figures, "clients": clients, "bytes": ratios}
    audit = {
        "controls": {"blind_text": {"auroc": 0.5}},
        "protocols": {"P1": {"rows": [row] if row else []}},
        "ladder": [{"rung": "R1", "distance": 0.25}],
        "knowledge": {"uploads": 4, "start_known": 3},
        "singletons": [{"recovered": True}],
    }
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(results))
    (folder / "audit.json").write_text(json.dumps(audit))
    return folder


def test_quality_over_seeds_with_a_split_that_clients_were_spared(tmp_path, monkeypatch, capsys):
    runs = [write(tmp_path / f"a{seed}", "fedrand", seed, nll) for seed, nll in enumerate((3.0, 4.0))]
    found = {row[1]: row[2:] for row in lines(monkeypatch, capsys, "seed_table.py", *runs)[2:]}
    # the half-width of two values 1 apart: t(0.975, 1) * 0.7071 / 1.4142 = 6.353
    assert found["server"] == ["3.500 ± 6.353", "50.000 ± 0.000", "4.500 ± 6.353", "0.50", "0.75"]
    assert found["server - before"][:3] == ["-1.500 ± 6.353", "10.000 ± 0.000", "-0.500 ± 6.353"]
    assert found["clients, mean"][:3] == ["3.500 ± 6.353", "50.000 ± 0.000", ""]


def test_leaks_over_seeds_and_their_paired_differences(tmp_path, monkeypatch, capsys):
    where = {"threat": "T0", "model": "server", "attack": "reference", "slice": "answer", "applies": True}
    levels = {"captions-fedavg-seed": (0.6, 0.7), "six-": (0.5, 0.7)}
    runs = [
        write(tmp_path / f"{name}{seed}", "m", seed, 3.0, {**where, "auroc": auroc})
        for name, both in levels.items()
        for seed, auroc in enumerate(both)
    ]
    heads, _, *rest = lines(monkeypatch, capsys, "leak_table.py", *runs)
    assert heads == ["captions-fedavg (2 seeds)", "six (2 seeds)", "six - captions-fedavg"]
    found = {row[0]: row[1:] for row in rest}
    assert found["T0 server's model, reference"] == ["0.650 ± 0.635", "0.600 ± 1.271", "-0.050 ± 0.635"]
    assert found["uploads whose whole start the server knew, share"][0] == "0.750 ± 0.000"
