"""Folders of the NumPy world."""

import pytest
from numpy_world import go_on, start


@pytest.fixture
def finished(tmp_path):
    """A run of the NumPy world after its last round."""
    folder = start(tmp_path / "run")
    go_on(folder)
    return folder
