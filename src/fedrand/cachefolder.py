"""Where fedrand keeps what it can make or fetch again: fedrand in $XDG_CACHE_HOME, or in ~/.cache where that is no whole path."""

import os
from pathlib import Path


def cache() -> Path:
    """The folder; nothing is made here."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".cache") / "fedrand"
