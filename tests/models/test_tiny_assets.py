"""The model that ships with fedrand: what transformers loads from its folder, and that it sees."""

import warnings
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from fedrand.data import load_emoji
from fedrand.models import load_model
from fedrand.models.features import ImageFeatures
from fedrand.models.load import SHIPPED, quiet
from fedrand.models.runtime import torch
from fedrand.score import token_scores

FOLDER = SHIPPED["tiny"]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def vlm():
    return load_model("tiny")


def test_the_auto_classes_load_it_as_plain_transformers_objects_in_float32():
    from transformers import AutoModelForImageTextToText, AutoProcessor

    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = AutoModelForImageTextToText.from_pretrained(FOLDER, local_files_only=True)
        processor = AutoProcessor.from_pretrained(FOLDER, local_files_only=True)
    assert type(model).__name__ == "FastVlmForConditionalGeneration"
    assert type(processor).__name__ == "LlavaProcessor"
    assert model.dtype == torch.float32


def test_its_weights_stay_under_16_megabytes_and_anyone_may_read_them():
    weights = (FOLDER / "model.safetensors").stat()
    assert weights.st_size < 16 * MEGABYTE
    assert weights.st_mode & 0o777 == 0o644


def test_its_folder_holds_no_code_and_no_pickle():
    assert {file.suffix for file in FOLDER.iterdir()} <= {".json", ".md", ".safetensors"}


def test_its_tokenizer_gives_any_text_back(vlm):
    text = "a snowman ☃ in a naïve café, 100%"
    ids = vlm.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert vlm.tokenizer.decode(ids) == text


def test_its_squeeze_layers_multiply_by_exactly_one(vlm):
    for block in vlm.model.model.vision_tower.encoder.blocks:
        gate = block.squeeze_excite
        assert not gate.expand.weight.any()
        assert (torch.sigmoid(gate.expand.bias) == 1).all()


def test_its_tower_stays_in_eval_mode_and_keeps_its_statistics(vlm):
    tower = vlm.model.model.vision_tower
    before = {name: value.clone() for name, value in tower.named_buffers()}
    vlm.model.train()
    vlm.path.project(torch.rand(2, 3, 96, 96))
    assert not any(module.training for module in tower.modules())
    assert all(torch.equal(value, before[name]) for name, value in tower.named_buffers())


def test_the_right_image_makes_a_caption_likelier_than_the_wrong_one(vlm):
    shown = load_emoji()["validation"][::4]
    wrong = [replace(example, image=other.image) for example, other in zip(shown, shown[-7:] + shown[:-7], strict=True)]
    assert all(a.group != b.group for a, b in zip(shown, shown[-7:] + shown[:-7], strict=True))
    features = ImageFeatures(vlm)
    losses = [
        [-np.mean(score.logp) for score in token_scores(vlm, features, [vlm.encode(one) for one in examples])]
        for examples in (shown, wrong)
    ]
    assert fmean(losses[1]) - fmean(losses[0]) > 0.5
    assert fmean(right < other for right, other in zip(*losses, strict=True)) > 0.8
