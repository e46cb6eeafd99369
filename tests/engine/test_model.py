"""Loading a model, freezing it, and running it on cached features: the model's own logits, and clear refusals."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from transformers import LlavaForConditionalGeneration
from transformers.utils import logging

from fedrand.batch import collate
from fedrand.data.example import DataError, ImageSource
from fedrand.models import ImageFeatures, ModelError, language_linears, load_model, probe
from fedrand.models import load as loading
from fedrand.models.runtime import torch


def own_logits(vlm, example):
    """The model's own forward on pixels, [T, V]."""
    encoded = vlm.encode(example)
    ids = torch.from_numpy(encoded.input_ids)[None]
    return vlm.model(input_ids=ids, pixel_values=vlm.path.pixels([example.image.load()])).logits[0]


def test_cached_features_give_the_model_s_own_logits_also_in_a_padded_batch(vlm, examples):
    encoded = [vlm.encode(example) for example in examples[:4]]
    assert len({len(one) for one in encoded}) > 1
    with torch.no_grad():
        logits = vlm.head(vlm.path.decode(collate(vlm, ImageFeatures(vlm), encoded).inputs))
        for row, one, example in zip(logits, encoded, examples, strict=False):
            torch.testing.assert_close(row[: len(one)], own_logits(vlm, example), atol=1e-4, rtol=1e-4)


def test_nothing_of_the_base_has_a_gradient_and_nothing_is_in_training_mode(vlm):
    assert not any(parameter.requires_grad for parameter in vlm.model.parameters())
    assert not any(module.training for module in vlm.model.modules())


def test_nobody_can_put_the_model_in_training_mode_and_change_its_features(fast_vlm, examples):
    pixels = fast_vlm.path.pixels([example.image.load() for example in examples[:4]])
    before, mark = fast_vlm.path.project(pixels), fast_vlm.fingerprint()
    fast_vlm.model.train()
    fast_vlm.model.model.vision_tower.train(True)
    fast_vlm.model.eval()
    fast_vlm.model.model.train()
    after = fast_vlm.path.project(pixels)
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    assert fast_vlm.fingerprint() == mark


def test_the_fingerprint_is_of_every_weight(folders, fast_vlm):
    mark = fast_vlm.fingerprint()
    assert load_model(str(folders["fast_vlm"])).fingerprint() == mark
    fast_vlm.model.model.vision_tower.embeddings.batchnorm.running_mean[0] += 1e-6
    assert fast_vlm.fingerprint() != mark


def test_the_linears_are_those_of_the_language_layers_alone(vlm):
    names = language_linears(vlm.model)
    assert len(names) == 2 * 7
    assert all(name.startswith("model.language_model.layers.") for name in names)


def test_a_feature_has_the_same_bits_whoever_else_is_computed_with_it(fast_vlm, examples):
    images = [example.image for example in examples]
    together, alone = ImageFeatures(fast_vlm), ImageFeatures(fast_vlm)
    together.prepare([*images, None])
    for image in reversed(images):
        assert torch.equal(alone([image])[0], together([image])[0])
    assert len(together) == len(images)
    assert not torch.equal(together(images[:1])[0], together(images[1:2])[0])


def test_images_are_always_computed_four_at_a_time_on_a_cpu_and_only_their_own_rows_are_kept(
    fast_vlm, examples, monkeypatch
):
    sizes = []

    def project(pixels):
        sizes.append(len(pixels))
        return list(torch.zeros(len(pixels), 2, 3))

    monkeypatch.setattr(fast_vlm.path, "project", project)
    kept = ImageFeatures(fast_vlm)([example.image for example in examples[:5]])
    assert sizes == [4, 4]
    assert all(feature.untyped_storage().nbytes() == feature.nbytes for feature in kept)


def test_an_image_is_computed_once(fast_vlm, examples, monkeypatch):
    features = ImageFeatures(fast_vlm)
    features.prepare(example.image for example in examples)
    monkeypatch.setattr(fast_vlm.path, "pixels", None)
    assert len(features([examples[3].image, examples[3].image])) == 2


def test_a_broken_image_is_named(fast_vlm, tmp_path):
    path = tmp_path / "broken.png"
    path.write_bytes(b"no image")
    with pytest.raises(DataError, match=r"cannot read image .*broken\.png"):
        ImageFeatures(fast_vlm).prepare([ImageSource(path)])


def test_other_floating_types_load(folders, examples):
    vlm = load_model(str(folders["fast_vlm"]), dtype="bfloat16")
    features = ImageFeatures(vlm)
    logits = vlm.head(vlm.path.decode(collate(vlm, features, [vlm.encode(examples[0])]).inputs))
    assert features([examples[0].image])[0].dtype == torch.bfloat16
    assert logits.dtype == torch.float32


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "./nowhere",
            {},
            r"no model './nowhere': no such folder; give tiny, smollm2, a folder, or a hub id OWNER/NAME",
        ),
        ("nowhere", {}, "no model 'nowhere'"),
        ("FOLDER", {"dtype": "float8"}, "unknown dtype 'float8'; choose from float32"),
        ("FOLDER", {"device": "abacus"}, "device 'abacus' is not there"),
    ],
)
def test_a_wrong_name_dtype_or_device_is_one_line_that_says_what_there_is(folders, name, options, message):
    with pytest.raises(ModelError, match=message) as error:
        load_model(name.replace("FOLDER", str(folders["fast_vlm"])), **options)
    assert "\n" not in str(error.value)


def test_a_hub_id_that_cannot_be_had_offline_is_one_line_with_the_remedy(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"cannot load model 'nobody/nothing' .*hf download nobody/nothing") as error:
        load_model("nobody/nothing")
    assert "\n" not in str(error.value)


def test_the_shipped_model_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(loading.SHIPPED, "tiny", tmp_path / "none")
    with pytest.raises(ModelError, match=r"'tiny' that ships with fedrand is not at .*reinstall"):
        load_model("tiny")


def copied(folders, tmp_path):
    return shutil.copytree(folders["fast_vlm"], tmp_path / "model")


def test_a_cut_weights_file_is_one_line(folders, tmp_path):
    folder = copied(folders, tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"cannot load model .*check the folder's files") as error:
        load_model(str(folder))
    assert "\n" not in str(error.value)


def test_a_model_that_lacks_weights_is_refused_and_never_filled_with_random_ones(folders, tmp_path):
    folder = copied(folders, tmp_path)
    tensors = load_file(folder / "model.safetensors")
    gone = "model.language_model.layers.0.mlp.up_proj.weight"
    name = next(key for key in tensors if key.endswith("layers.0.mlp.up_proj.weight"))
    del tensors[name]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=f"lacks 1 weights, first {gone}"):
        load_model(str(folder))


QUERY = "model.language_model.layers.0.self_attn.q_proj.weight"


def reweighted(folders, tmp_path, change):
    """A copy whose tensor QUERY is `change` of the whole one."""
    folder = copied(folders, tmp_path)
    tensors = load_file(folder / "model.safetensors")
    (name,) = (key for key in tensors if key.endswith(QUERY.removeprefix("model.")))
    tensors[name] = change(tensors[name])
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return str(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e6])
def test_a_weight_that_is_no_number_in_its_type_is_refused_by_name(folders, tmp_path, value):
    def broken(weight):
        return torch.cat([weight[:-1], torch.full_like(weight[-1:], value)]).contiguous()

    with pytest.raises(ModelError, match=rf"has NaN or Inf in its weight {QUERY} \(as float16\).*model\.dtype"):
        load_model(reweighted(folders, tmp_path, broken), dtype="float16")


def test_a_weight_of_another_shape_is_refused_by_name_and_never_drawn_anew(folders, tmp_path):
    with pytest.raises(ModelError, match=rf"has the weight {QUERY} of shape \(\d+, \d+\), its configuration says"):
        load_model(reweighted(folders, tmp_path, lambda weight: weight[:-1].contiguous()))


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "processor_config.json", "config.json"])
@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_file_of_json_that_is_none_or_of_another_shape_is_one_line(folders, tmp_path, name, text):
    folder = copied(folders, tmp_path)
    (folder / name).write_text(text)
    with pytest.raises(ModelError, match=r"cannot load model .*check the folder's files") as error:
        load_model(str(folder))
    assert "\n" not in str(error.value)


def test_a_model_without_an_image_processor_is_one_line(folders, tmp_path):
    folder = copied(folders, tmp_path)
    (folder / "processor_config.json").unlink()
    with pytest.raises(ModelError, match=r"cannot load model .*Can't load image processor"):
        load_model(str(folder))


class TwoAxes(LlavaForConditionalGeneration):
    """Places its tokens in a way that nothing below its head knows of."""

    def forward(self, input_ids=None, **inputs):
        return super().forward(input_ids, **inputs, position_ids=2 * torch.arange(input_ids.shape[1])[None])


def test_a_model_whose_logits_no_path_gives_is_refused_with_what_is_supported(folders, monkeypatch):
    monkeypatch.setattr(loading.AutoModelForImageTextToText, "from_pretrained", TwoAxes.from_pretrained)
    with pytest.raises(ModelError, match=r"cannot run model .* gives other logits below its head .*such as LLaVA"):
        load_model(str(folders["llava"]))


def test_a_tower_that_cannot_take_what_its_processor_makes_is_refused(folders, tmp_path):
    folder = copied(folders, tmp_path)
    path = folder / "processor_config.json"
    config = json.loads(path.read_text())
    config["image_processor"] |= {"size": {"shortest_edge": 32}, "do_center_crop": False}
    path.write_text(json.dumps(config))
    with pytest.raises(ModelError, match="cannot run model"):
        load_model(str(folder))


def test_a_processor_of_another_family_is_one_line_with_what_is_supported(folders, monkeypatch):
    def nested(processor):
        raise TypeError("images must be a list of lists\nof images")

    monkeypatch.setattr(probe, "image_text", nested)
    with pytest.raises(
        ModelError, match=r"cannot run model .*list of lists; choose one whose forward takes image features"
    ) as error:
        load_model(str(folders["llava"]))
    assert "\n" not in str(error.value)


def test_loading_leaves_the_verbosity_of_transformers_as_it_was(folders):
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load_model(str(folders["fast_vlm"]))
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_torch_is_imported_in_one_module_only():
    root = Path(loading.__file__).parents[1]
    found = [path for path in root.rglob("*.py") if re.search(r"^\s*(import|from) torch\b", path.read_text(), re.M)]
    assert found == [root / "models" / "runtime.py"]


@pytest.mark.parametrize("module", ["models", "models.load", "lora", "train", "score", "generate", "adapter_file"])
def test_idle_threads_sleep_whichever_module_is_imported_first(module):
    code = (
        "import os, sys\n"
        "class Watch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            print(os.environ.get('OMP_WAIT_POLICY'), flush=True)\n"
        "            os._exit(0)\n"
        f"sys.meta_path.insert(0, Watch())\nimport fedrand.{module}\n"
    )
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "PASSIVE\n"
