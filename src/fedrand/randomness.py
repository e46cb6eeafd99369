"""Independent random streams by name: the same seed and name give the same numbers, whatever else was drawn."""

import hashlib

import numpy as np


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """A generator of its own for (seed, name): `stream(0, "client", "c03", 7)`."""
    digest = hashlib.sha256(repr((seed, *name)).encode()).digest()
    return np.random.Generator(np.random.PCG64(np.frombuffer(digest, np.uint32).tolist()))
