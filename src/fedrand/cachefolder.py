"""Where fedrand keeps what it can make or fetch again: fedrand in $XDG_CACHE_HOME, or in ~/.cache."""

import os
from pathlib import Path


def cache() -> Path:
    """The folder; nothing is made here."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "fedrand"
