"""A tiny random model of each family, and a dozen examples with drawn images."""

import sys
from pathlib import Path

import numpy as np
import pytest
from equipment import equipped
from PIL import Image
from tiny_models import FAMILIES, save_model

from fedrand.data.example import Example, ImageSource
from fedrand.models import load_model
from fedrand.models.load import quiet
from fedrand.models.runtime import torch

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

ANSWERS = ("a red cat", "a dog", "a blue dog and a short red cat", "an image", "cat", "a given description of a dog")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """family -> model folder."""
    with quiet():
        return {family: save_model(tmp_path_factory.mktemp(family), family) for family in FAMILIES}


@pytest.fixture(scope="session")
def examples(tmp_path_factory):
    """Twelve captioned images of differing answer length, no two alike."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    made = []
    for number in range(12):
        path = folder / f"{number}.png"
        blocks = rng.integers(0, 256, (4, 3, 3), np.uint8)
        Image.fromarray(blocks.repeat(10, 0).repeat(10, 1)).save(path)
        answer = ANSWERS[number % len(ANSWERS)]
        made.append(Example(f"e{number}", ImageSource(path), "coco", answer, (answer,)))
    return tuple(made)


@pytest.fixture(params=sorted(FAMILIES))
def vlm(request, folders):
    """Each family in turn, float32."""
    return load_model(str(folders[request.param]))


@pytest.fixture
def fast_vlm(folders):
    return load_model(str(folders["fast_vlm"]))


@pytest.fixture
def exact_vlm(folders):
    """float64, for equalities."""
    return load_model(str(folders["fast_vlm"]), dtype="float64")


@pytest.fixture
def engine(fast_vlm):
    """(model, adapter with both factors random, features)."""
    return equipped(fast_vlm)
