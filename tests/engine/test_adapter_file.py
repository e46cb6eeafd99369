"""Adapters for others: PEFT loads them, plain transformers loads the merged model, and neither gives other logits."""

import json

import numpy as np
import pytest
from equipment import equipped, random_params
from peft import PeftModel
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForImageTextToText, AutoProcessor

from fedrand.adapter_file import AdapterFileError, load_peft, save_merged, save_peft
from fedrand.models import load_model
from fedrand.models.load import quiet
from fedrand.models.runtime import torch
from fedrand.params import Key, identical

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
RANK, SCALE = 4, 1.5


@pytest.fixture(params=["fast_vlm", "llava"])
def trained(request, folders):
    """(folder, model with an adapter, its tensors)."""
    folder = str(folders[request.param])
    vlm, adapter, _ = equipped(load_model(folder), rank=RANK, scale=SCALE)
    return folder, vlm, adapter.read()


@torch.no_grad()
def full_logits(model, vlm, example):
    encoded = vlm.encode(example)
    pixels = vlm.path.pixels([example.image.load()])
    return model(input_ids=torch.from_numpy(encoded.input_ids)[None], pixel_values=pixels).logits


def test_peft_loads_the_adapter_and_gives_the_same_logits(trained, examples, tmp_path):
    folder, vlm, params = trained
    save_peft(tmp_path / "adapter", params, RANK, SCALE, folder)
    with quiet():
        base = AutoModelForImageTextToText.from_pretrained(folder)
        before = full_logits(base, vlm, examples[0])
        model = PeftModel.from_pretrained(base, str(tmp_path / "adapter")).eval()
    ours = full_logits(vlm.model, vlm, examples[0])
    torch.testing.assert_close(full_logits(model, vlm, examples[0]), ours, atol=1e-5, rtol=1e-5)
    assert float((ours - before).abs().max()) > 0.1


def test_plain_transformers_loads_the_merged_model_and_gives_the_same_logits(trained, examples, tmp_path):
    _, vlm, params = trained
    mark = vlm.fingerprint()
    save_merged(tmp_path / "merged", vlm, params, SCALE)
    with quiet():
        model = AutoModelForImageTextToText.from_pretrained(tmp_path / "merged").eval()
        processor = AutoProcessor.from_pretrained(tmp_path / "merged")
    torch.testing.assert_close(
        full_logits(model, vlm, examples[0]), full_logits(vlm.model, vlm, examples[0]), atol=1e-4, rtol=1e-4
    )
    assert processor.image_token == "<image>"
    assert vlm.fingerprint() == mark
    assert (tmp_path / "merged" / "model.safetensors").stat().st_mode & 0o777 == 0o644


def test_a_merged_model_can_be_the_base_of_the_next_run(trained, tmp_path):
    _, vlm, params = trained
    save_merged(tmp_path / "merged", vlm, params, SCALE)
    assert load_model(str(tmp_path / "merged")).fingerprint() != vlm.fingerprint()


def test_what_is_saved_is_read_back_to_the_bit(trained, tmp_path):
    folder, _, params = trained
    save_peft(tmp_path / "adapter", params, RANK, SCALE, folder)
    found = load_peft(tmp_path / "adapter")
    assert identical(found.params, params)
    assert (found.rank, found.scale, found.base_model) == (RANK, SCALE, folder)


@pytest.fixture
def saved(engine, tmp_path):
    """A saved PEFT folder."""
    save_peft(tmp_path / "adapter", engine[1].read(), 8, 1.0, "base")
    return tmp_path / "adapter"


def test_an_export_without_tensors_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(AdapterFileError, match="an adapter without tensors is the base model"):
        save_peft(tmp_path / "adapter", {}, 8, 1.0, "base")
    assert not list(tmp_path.iterdir())


def test_an_untrained_adapter_is_refused_unless_that_is_meant(engine, tmp_path):
    params = engine[1].initial(np.random.default_rng(0))
    with pytest.raises(AdapterFileError, match="every B of the adapter is zero"):
        save_peft(tmp_path / "adapter", params, 8, 1.0, "base")
    save_peft(tmp_path / "adapter", params, 8, 1.0, "base", trained=False)
    assert load_peft(tmp_path / "adapter").rank == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda params, key: params.pop(key), "lacks 1 tensors, first model.*"),
        (lambda params, key: params.update({key: params[key] * np.nan}), "holds NaN or Inf"),
        (lambda params, key: params.update({key: params[key][:3]}), "has rank 3, the adapter's is 8"),
    ],
)
def test_half_a_pair_nan_or_another_rank_is_never_exported(engine, tmp_path, change, message):
    params = random_params(engine[1])
    change(params, engine[1].keys[0])
    with pytest.raises(AdapterFileError, match=message):
        save_peft(tmp_path / "adapter", params, 8, 1.0, "base")
    assert not list(tmp_path.iterdir())


def altered(folder, change):
    tensors = load_file(folder / "adapter_model.safetensors")
    change(tensors)
    save_file(tensors, folder / "adapter_model.safetensors")


def test_a_file_with_a_tensor_missing_is_an_error_that_names_it(saved, engine):
    name = f"base_model.model.{engine[1].layers[0]}.lora_B.weight"
    altered(saved, lambda tensors: tensors.pop(name))
    with pytest.raises(AdapterFileError, match=f"lacks 1 tensors, first {engine[1].layers[0]}.B"):
        load_peft(saved)


def test_a_file_with_a_tensor_too_many_is_an_error_that_names_it(saved):
    altered(saved, lambda tensors: tensors.update({"base_model.model.embed_tokens.weight": np.zeros(3, np.float32)}))
    with pytest.raises(AdapterFileError, match=r"unexpected tensor base_model\.model\.embed_tokens\.weight"):
        load_peft(saved)


@pytest.mark.parametrize("change", [{"peft_type": "LOKR"}, {"use_rslora": True}, {"alpha_pattern": {"q_proj": 2}}])
def test_another_form_of_lora_is_never_read_as_the_plain_one(saved, change):
    path = saved / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(AdapterFileError, match="is not plain LoRA"):
        load_peft(saved)


def test_a_folder_that_is_no_adapter_is_an_error_that_says_what_it_needs(tmp_path):
    with pytest.raises(AdapterFileError, match=r"is no PEFT adapter .* needs adapter_config\.json"):
        load_peft(tmp_path)


def test_merging_into_another_model_is_refused(engine, tmp_path):
    stranger = {Key("model.layers.9.q_proj", factor): np.ones((8, 8), np.float32) for factor in "AB"}
    with pytest.raises(AdapterFileError, match=r"has no layer model\.layers\.9\.q_proj"):
        save_merged(tmp_path / "merged", engine[0], stranger, 1.0)


def test_saving_again_replaces_the_folder_whole(saved, engine):
    (saved / "left_over").write_text("")
    save_peft(saved, random_params(engine[1], seed=1), 8, 1.0, "base")
    assert sorted(path.name for path in saved.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]
    assert [path.name for path in saved.parent.iterdir()] == ["adapter"]


LOHA = pytest.mark.parametrize("kind", ["hadamard", "hadamard+1"])


@LOHA
def test_peft_loads_a_hadamard_adapter_as_loha_and_gives_the_same_logits(folders, examples, tmp_path, kind):
    folder = str(folders["fast_vlm"])
    vlm, adapter, _ = equipped(load_model(folder), rank=RANK, scale=SCALE, kind=kind)
    save_peft(tmp_path / "adapter", adapter.read(), RANK, SCALE, folder, kind=kind)
    with quiet():
        base = AutoModelForImageTextToText.from_pretrained(folder)
        before = full_logits(base, vlm, examples[0])
        model = PeftModel.from_pretrained(base, str(tmp_path / "adapter")).eval()
    ours = full_logits(vlm.model, vlm, examples[0])
    torch.testing.assert_close(full_logits(model, vlm, examples[0]), ours, atol=1e-5, rtol=1e-5)
    assert float((ours - before).abs().max()) > 1e-3
    found = load_peft(tmp_path / "adapter")
    assert (found.rank, found.scale) == (RANK + (kind == "hadamard+1"), SCALE)
    if kind == "hadamard":
        assert identical(found.params, adapter.read())


@LOHA
def test_a_merged_hadamard_adapter_gives_the_same_logits(folders, examples, tmp_path, kind):
    vlm, adapter, _ = equipped(load_model(str(folders["fast_vlm"])), rank=RANK, scale=SCALE, kind=kind)
    save_merged(tmp_path / "merged", vlm, adapter.read(), SCALE, kind)
    with quiet():
        model = AutoModelForImageTextToText.from_pretrained(tmp_path / "merged").eval()
    ours = full_logits(vlm.model, vlm, examples[0])
    torch.testing.assert_close(full_logits(model, vlm, examples[0]), ours, atol=1e-4, rtol=1e-4)


def test_first_pairs_alone_are_written_as_lora_whatever_the_kind(folders, tmp_path):
    _, adapter, _ = equipped(load_model(str(folders["fast_vlm"])), kind="hadamard+1")
    first = {key: value for key, value in adapter.read().items() if key.factor in ("A", "B")}
    save_peft(tmp_path / "adapter", first, 8, 1.0, "base", kind="hadamard+1")
    assert json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())["peft_type"] == "LORA"
    assert identical(load_peft(tmp_path / "adapter").params, first)


def test_a_second_pair_of_one_layer_only_is_never_exported(folders, tmp_path):
    _, adapter, _ = equipped(load_model(str(folders["fast_vlm"])), kind="hadamard")
    params = adapter.read()
    lost = adapter.keys[-1]
    del params[lost]
    with pytest.raises(AdapterFileError, match=f"lacks 1 tensors, first {lost}"):
        save_peft(tmp_path / "adapter", params, 8, 1.0, "base", kind="hadamard")
