"""Memory of this process, in MB."""

import os
import resource
import sys
from pathlib import Path


def peak() -> float:
    """The most it has held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


def resident() -> float:
    """What it holds now; the most so far, where the system does not tell."""
    table = Path("/proc/self/statm")
    return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if table.exists() else peak()
