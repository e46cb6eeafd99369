"""What a run was made with: versions, machine, seed."""

import platform
from importlib import metadata
from typing import Any

import fedrand

PACKAGES = ("torch", "transformers", "numpy", "safetensors", "tokenizers", "pillow", "pydantic")


def versions() -> dict[str, str]:
    found = {package: metadata.version(package) for package in PACKAGES}
    return {"fedrand": fedrand.__version__, "python": platform.python_version(), **found}


def environment(identity: dict[str, Any], seed: int, threads: int) -> dict[str, Any]:
    """environment.json: the model's and the data's identity, and what the bits may depend on."""
    machine = f"{platform.system()} {platform.machine()}"
    return {**identity, "seed": seed, "threads": threads, "versions": versions(), "machine": machine}
