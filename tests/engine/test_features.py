"""Image features beyond what memory is given lie in a file without a name: the same bits, and one line when it is full."""

import math
import stat
from types import SimpleNamespace

import numpy as np
import pytest
from equipment import random_params
from tiny_families import save_family
from tiny_tinyllava import save_tinyllava

from fedrand.doctor import examine
from fedrand.errors import RunError
from fedrand.lora import Adapter
from fedrand.models import ImageFeatures, load_model
from fedrand.models.features import GIB, MEMORY, Room, room
from fedrand.models.load import quiet
from fedrand.models.runtime import torch
from fedrand.models.spill import Spill
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.recipe import load_recipe
from fedrand.score import token_scores
from fedrand.train import TrainSettings, train

LEAVES = torch.utils._pytree.tree_leaves
old_names = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")


@pytest.fixture
def images(examples):
    return [example.image for example in examples]


def same(one, other):
    pairs = list(zip(LEAVES(one), LEAVES(other), strict=True))
    return bool(pairs) and all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_what_lay_on_disk_comes_back_bit_for_bit(folders, images, tmp_path, dtype):
    vlm = load_model(str(folders["fast_vlm"]), dtype=dtype)
    held, spilt = ImageFeatures(vlm, math.inf), ImageFeatures(vlm, 0, tmp_path)
    spilt.prepare(images)
    assert held.size == (0, 0) and len(spilt) == len(images)
    for image in reversed(images):
        assert same(spilt([image]), held([image]))
    assert spilt.size == (0, held.size.memory) and held.size.disk == 0


@old_names
@pytest.mark.parametrize("family", ["llava_onevision", "qwen2_vl", "gemma3"])
def test_so_do_the_features_of_a_model_with_its_own_forward(family, examples, tmp_path):
    with quiet():
        vlm = load_model(str(save_family(tmp_path / family, family)))
    encoded = [vlm.encode(example) for example in examples[:4]]
    held, spilt = ImageFeatures(vlm), ImageFeatures(vlm, 0, tmp_path)
    assert same(spilt([one.image for one in encoded]), held([one.image for one in encoded]))
    for one, other in zip(token_scores(vlm, held, encoded), token_scores(vlm, spilt, encoded), strict=True):
        assert one.logp.tobytes() == other.logp.tobytes()


def test_memory_holds_the_first_ones_and_no_more_than_it_is_given(fast_vlm, images, tmp_path):
    every = ImageFeatures(fast_vlm)
    every.prepare(images)
    each = every.size.memory // len(images)
    some = ImageFeatures(fast_vlm, 5.5 * each / GIB, tmp_path)
    some.prepare(images)
    assert some.size == (5 * each, (len(images) - 5) * each)
    assert some([images[0]])[0] is some([images[0]])[0]
    assert some([images[-1]])[0] is not some([images[-1]])[0]


def test_training_on_features_from_disk_gives_the_same_adapter(fast_vlm, examples, tmp_path):
    adapter = Adapter.attach(fast_vlm)
    encoded = [fast_vlm.encode(example) for example in examples]
    start, settings = random_params(adapter), TrainSettings(lr=1e-2, batch_size=4, epochs=2)
    ends = [
        train(fast_vlm, adapter, kept, encoded, start, frozenset(adapter.keys), settings, stream(0, "order")).params
        for kept in (ImageFeatures(fast_vlm), ImageFeatures(fast_vlm, 0, tmp_path))
    ]
    assert all(np.array_equal(ends[0][key], ends[1][key]) for key in adapter.keys)


def test_the_file_has_no_name_and_its_folder_is_the_user_s_alone(fast_vlm, images, tmp_path):
    features = ImageFeatures(fast_vlm, 0, tmp_path / "features")
    features.prepare(images)
    assert features.size.disk
    assert not list((tmp_path / "features").iterdir())
    assert stat.S_IMODE((tmp_path / "features").stat().st_mode) == 0o700


def test_with_room_in_memory_nothing_touches_the_disk(fast_vlm, images, tmp_path):
    features = ImageFeatures(fast_vlm, MEMORY, tmp_path / "features")
    features(images)
    assert not (tmp_path / "features").exists()


def test_a_folder_that_cannot_be_written_is_one_line(fast_vlm, images, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot keep image features in .*file/features \(.+\); free space") as error:
        ImageFeatures(fast_vlm, 0, tmp_path / "file" / "features").prepare(images)
    assert "\n" not in str(error.value)


def test_a_disk_that_is_too_small_is_told_before_the_work(fast_vlm, images, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1000))
    features = ImageFeatures(fast_vlm, 0, tmp_path)
    with pytest.raises(RunError, match=r"0\.0 GiB free: too little; free space there, name another folder with XDG_"):
        features.prepare(images)
    assert not len(features)


def test_a_disk_that_fills_up_meanwhile_is_one_line(tmp_path):
    spill = Spill(tmp_path)
    with open("/dev/full", "wb", buffering=0) as full:
        spill._file = full
        with pytest.raises(RunError, match=r"No space left on device\); free space there") as error:
            spill.put(torch.ones(4))
    assert "\n" not in str(error.value)


def test_what_is_foretold_is_in_memory_up_to_the_bound():
    assert room(5 * GIB, 4.0) == Room(4 * GIB, GIB)
    assert room(GIB, 4.0) == Room(GIB, 0)
    assert load_recipe("emoji").memory.image_features == MEMORY


def test_the_doctor_tells_where_image_features_will_lie(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    small = ["data.limit=60", "data.clients=2", "train.clients_per_round=2"]
    small.append(f"model.name={save_tinyllava(tmp_path)}")
    for bound, disk in (("4.0", 0), ("0", 1)):
        heard = []
        recipe = load_recipe("emoji", [*small, f"memory.image_features={bound}"])
        found = examine(recipe, Progress(lambda event, heard=heard: heard.append(event.text)))
        told = next(text for text in heard if text.startswith("image features: "))
        assert ("in a file without a name in" in told) == bool(disk)
        forecast = found["forecast"]
        assert found["image_features"] == {"memory": forecast["images_in_memory"], "disk": forecast["images_on_disk"]}
        assert bool(found["image_features"]["disk"]) == bool(disk)
