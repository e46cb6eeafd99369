"""Imports point down: cli -> run, report, audit -> engine, data -> core. Each heavy package enters by one door."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "fedrand"

# What stands at the top of the package, by area; a folder is an area of its own, any other file belongs to `run`.
AREAS = {
    "core": "params messages release aggregation strategy strategies randomness admission round federation tensorfile",
    "ground": "errors progress runfile cachefolder",
    "engine": "models lora hadamard adapter_file batch train score choices gradients activations generate counting",
    "cli": "cli commands __main__ demo doctor crew reproduce",
}
MAY_IMPORT = {
    "core": {"core"},
    "ground": {"ground"},
    "data": {"data", "core", "ground"},
    "metrics": {"metrics"},
    "engine": {"engine", "data", "core", "ground"},
    "run": {"run", "engine", "data", "metrics", "core", "ground"},
    "audit": {"audit", "run", "engine", "data", "metrics", "core", "ground"},
    "report": {"report", "core", "ground"},
    "cli": {"cli", "report", "audit", "run", "engine", "data", "metrics", "core", "ground"},
}
EXCEPT = {  # what one writes the other reads: one file knows the form
    ("fedrand.run", "fedrand.audit.transcript"),
    ("fedrand.report.pairs", "fedrand.audit.paired"),
}
DOORS = {  # outside packages and the files that may import them
    "numpy": None,
    "matplotlib": {"reproduce/pictures.py"},
    "dp_accounting": {"accountant.py"},
    "scipy": {"audit", "reproduce/cells.py"},
    "datasets": {"data/hub.py"},
    "gguf": {"models/gguf_llama.py"},
    "tokenizers": {"models/gguf_llama.py"},
    "PIL": {"data/canaries.py", "data/example.py", "models/probe.py", "models/fast.py", "models/own_forward.py"},
    "pydantic": {"recipe.py", "settings.py"},
    "pydantic_core": {"recipe.py"},
    "rich": {"progress.py", "report/terminal.py"},
    "safetensors": {"tensorfile.py", "adapter_file.py", "models/load.py"},
    "torch": {"models/runtime.py"},
    "transformers": {  # one part of a model's folder each, and a model that is no class of its own
        "models/assembly.py",
        "models/gguf_llama.py",
        "models/load.py",
        "models/openelm.py",
        "models/openelm_config.py",
        "models/outline.py",
        "models/processor.py",
        "models/smollm2.py",
        "models/tinyllava.py",
    },
}
PEFT_NAMES = ("base_model.model", "lora_A", "lora_B", "hada_")
AREA_OF = {name: area for area, names in AREAS.items() for name in names.split()}
FILES = sorted(PACKAGE.rglob("*.py"))


def module(path):
    parts = ("fedrand", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module(path) for path in FILES}


def imports(path):
    """Every module a file names in an import, also inside functions; relative ones spelt out."""
    package = module(path).split(".") if path.name == "__init__.py" else module(path).split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            source = (above + (node.module or "")).rstrip(".")
            named = {f"{source}.{alias.name}" for alias in node.names}
            yield from named & MODULES or {source}


def area(name):
    parts = name.split(".")
    if len(parts) == 1:
        return "core"  # the package itself offers the core
    folder = (PACKAGE / parts[1]).is_dir()
    return AREA_OF.get(parts[1], parts[1] if folder else "run")


every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))


@every_file
def test_imports_point_down(path):
    here = module(path)
    allowed = MAY_IMPORT[area(here)]
    inside = {name for name in imports(path) if name.split(".")[0] == "fedrand"}
    up = sorted(name for name in inside if area(name) not in allowed and (here, name) not in EXCEPT)
    assert not up, f"{here} ({area(here)}) may import {sorted(allowed)}, not {up}"


@every_file
def test_an_outside_package_enters_by_its_door(path):
    place = path.relative_to(PACKAGE)
    for name in {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {"fedrand"}:
        assert name in DOORS, f"{place} imports {name}, which is no dependency"
        doors = DOORS[name]
        assert doors is None or {str(place), place.parts[0]} & doors, f"{place} imports {name}; its doors are {doors}"


def test_no_module_imports_itself_in_a_circle():
    TopologicalSorter({module(path): set(imports(path)) & MODULES - {module(path)} for path in FILES}).prepare()


def test_the_core_needs_nothing_but_numpy_and_safetensors():
    for path in FILES:
        if area(module(path)) == "core":
            outside = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names
            assert outside <= {"fedrand", "numpy", "safetensors"}, path


def test_the_audit_reads_transcripts_and_no_clients_state():
    for path in FILES:
        if area(module(path)) == "audit":
            assert not set(imports(path)) & {"fedrand.shelf", "fedrand.checkpoint"}, path
            assert "ClientState" not in path.read_text(), path


def test_only_the_command_line_imports_the_command_line():
    for path in FILES:
        assert "fedrand.cli" not in set(imports(path)) or path.name == "__main__.py", path


def test_names_of_peft_stand_in_one_file():
    holders = {path.name for path in FILES if any(name in path.read_text() for name in PEFT_NAMES)}
    assert holders == {"adapter_file.py"}


HEAVY = ("PIL", "peft", "pydantic", "rich", "scipy", "torch", "transformers")
LOOK = f"""
import sys, time
begun = time.perf_counter()
import fedrand
print(time.perf_counter() - begun, *(name for name in {HEAVY} if name in sys.modules))
"""


def test_importing_fedrand_takes_under_a_second_and_loads_nothing_heavy():
    said = [subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True) for _ in range(3)]
    words = [done.stdout.split() for done in said]
    assert min(float(seconds) for seconds, *_ in words) < 1.0
    assert not any(heavy for _, *heavy in words)
