"""TinyLLaVA from a folder in its published form: loaded, trained, decoded and exported like every other model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from equipment import equipped
from peft import PeftModel
from PIL import Image
from safetensors.numpy import load_file, save_file
from tiny_tinyllava import FFN, HEAD, HEADS, KV_HEADS, LAYERS, WIDTH, save_tinyllava
from tokenizers import Tokenizer
from transformers import CLIPVisionConfig, PreTrainedTokenizerFast

from fedrand.adapter_file import save_merged, save_peft
from fedrand.batch import answer_hidden, collate
from fedrand.data.example import Example
from fedrand.generate import captions, generate_ids
from fedrand.lora import Adapter
from fedrand.models import ExampleError, ImageFeatures, ModelError, load_model
from fedrand.models.encoding import Encoder
from fedrand.models.linears import language_linears
from fedrand.models.load import quiet
from fedrand.models.openelm_config import OpenELMConfig
from fedrand.models.runtime import torch
from fedrand.models.tinyllava import TinyLlavaConfig, TinyLlavaForConditionalGeneration
from fedrand.params import Key
from fedrand.randomness import stream
from fedrand.train import TrainSettings, train

PARTS = ("attn.qkv_proj", "attn.out_proj", "ffn.proj_1", "ffn.proj_2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tinyllava(tmp_path_factory.mktemp("tinyllava"))


@pytest.fixture
def vlm(folder):
    return load_model(str(folder))


@torch.no_grad()
def own_logits(model, vlm, example):
    """The model's own forward on pixels, [1, T, V]."""
    ids = torch.from_numpy(vlm.encode(example).input_ids)[None]
    return model(input_ids=ids, pixel_values=vlm.path.pixels([example.image.load()])).logits


@pytest.mark.parametrize("connector", ["linear", "mlp2x_gelu"])
def test_every_weight_of_the_checkpoint_is_in_the_model_to_the_bit(tmp_path, connector):
    save_tinyllava(tmp_path, connector)
    vlm = load_model(str(tmp_path))
    ours = vlm.model.state_dict()
    ours.pop("language_model.lm_head.weight")
    published = load_file(tmp_path / "model.safetensors")
    assert len(ours) == len(published)
    for name, value in published.items():
        (found,) = {name, name.replace("_vision_tower.vision_model.", "_vision_tower.")} & ours.keys()
        assert np.array_equal(ours[found].numpy(), value.astype(np.float32)), name


def test_an_image_is_its_patches_without_cls_from_the_last_layer_but_one(vlm, examples):
    pixels = vlm.path.pixels([example.image.load() for example in examples[:2]])
    assert pixels.shape == (2, 3, 32, 32)
    tower, connector = vlm.model.vision_tower._vision_tower, vlm.model.connector._connector
    with torch.no_grad():
        states = tower(pixels, output_hidden_states=True).hidden_states
        assert len(states) == 4
        wanted = connector(states[2][:, 1:])
    torch.testing.assert_close(torch.stack(vlm.path.project(pixels)), wanted)
    assert vlm.path.layout.image_tokens == wanted.shape[1] == 4


def test_pixels_are_clip_s_square_of_any_image(vlm):
    wide = np.zeros((20, 60, 3), np.uint8)
    wide[:, 20:40] = 255
    (middle,) = vlm.path.pixels([Image.fromarray(wide)])
    assert float(middle[0].mean()) > 1.5  # the sides were cut off, the white middle is left


def test_cached_features_give_the_model_s_own_logits_also_in_a_padded_batch(vlm, examples):
    encoded = [vlm.encode(example) for example in examples[:4]]
    assert len({len(one) for one in encoded}) > 1
    with torch.no_grad():
        logits = vlm.head(vlm.path.decode(collate(vlm, ImageFeatures(vlm), encoded).inputs))
        for row, one, example in zip(logits, encoded, examples, strict=False):
            torch.testing.assert_close(row[: len(one)], own_logits(vlm.model, vlm, example)[0], atol=1e-4, rtol=1e-4)


def test_labels_are_the_answer_and_the_end_and_never_the_image(vlm, examples):
    one = vlm.encode(examples[0])
    labels = one.labels[one.labels != -100].tolist()
    assert vlm.tokenizer.decode(labels[:-1]) == "a red cat"
    assert labels[-1] == vlm.tokenizer.eos_token_id == 2
    assert one.input_ids[0] == vlm.tokenizer.bos_token_id == 1
    assert (one.input_ids == vlm.image_token).sum() == vlm.path.layout.image_tokens
    assert vlm.image_token not in labels and vlm.pad != vlm.image_token


def test_no_text_makes_an_image_token(vlm, examples):
    assert vlm.image_token not in vlm.tokenizer("naïve € 猫 \0 \u200b")["input_ids"]
    with pytest.raises(ExampleError, match=r"2 image tokens in its text, 1 expected; remove '<unk>'"):
        vlm.encode(Example("x", examples[0].image, "{image} {question} ASSISTANT:", "cat", ("cat",), question="<unk>?"))


@pytest.mark.parametrize("with_image", [True, False])
def test_a_character_that_the_tokenizer_does_not_know_is_never_taken_for_an_image(vlm, examples, with_image):
    """As with a tokenizer that has no bytes to fall back on."""
    tokenizer = json.loads(vlm.tokenizer.backend_tokenizer.to_str())
    tokenizer["model"] |= {"byte_fallback": False, "unk_token": "<unk>"}
    poorer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(tokenizer)), unk_token="<unk>")
    encoder = Encoder(poorer, vlm.path.layout, 2, 512)
    known = replace(examples[0], image=examples[0].image if with_image else None, prompt="{image} USER:")
    assert vlm.image_token in poorer("猫")["input_ids"]
    assert (encoder.encode(known).input_ids == 0).sum() == vlm.path.layout.image_tokens * with_image
    for text in ({"answer": "a 猫"}, {"prompt": "{image} {question} USER:", "question": "猫?"}):
        with pytest.raises(
            ExampleError, match=f"has {1 + with_image} image tokens in its text, {with_image:d} expected"
        ):
            encoder.encode(replace(known, **text))


def test_what_it_says_is_neither_an_image_nor_padding_but_may_end(vlm):
    assert vlm.never_said == [vlm.image_token] == [0]
    assert vlm.ends == (2,) and vlm.pad == 2 and not vlm.path.slow


def test_text_after_the_image_begins_as_it_did_when_the_checkpoint_was_trained(vlm):
    tokens = vlm.tokenizer.convert_ids_to_tokens(vlm.tokenizer("USER: <unk>\n cat")["input_ids"])
    assert tokens == ["<s>", "▁", "USER", ":", "▁", "<unk>", "▁", "<0x0A>", "▁", "cat"]


def test_lora_is_on_the_four_linears_of_each_layer(vlm):
    assert language_linears(vlm.model) == tuple(
        f"language_model.transformer.layers.{layer}.{part}" for layer in range(LAYERS) for part in PARTS
    )
    shapes = Adapter.attach(vlm, rank=2).shapes
    for layer, (heads, kv, ffn) in enumerate(zip(HEADS, KV_HEADS, FFN, strict=True)):
        wide = {"attn.qkv_proj": (WIDTH, (heads + 2 * kv) * HEAD), "attn.out_proj": (heads * HEAD, WIDTH)}
        wide |= {"ffn.proj_1": (WIDTH, 2 * ffn), "ffn.proj_2": (ffn, WIDTH)}
        for part, (into, out) in wide.items():
            name = f"language_model.transformer.layers.{layer}.{part}"
            assert (shapes[Key(name, "A")], shapes[Key(name, "B")]) == ((2, into), (out, 2))


def test_the_adapter_of_the_published_model_is_two_fifths_a():
    with torch.device("meta"):
        model = TinyLlavaForConditionalGeneration(TinyLlavaConfig())
    linears = [model.get_submodule(name) for name in language_linears(model)]
    a, b = (8 * sum(getattr(linear, side) for linear in linears) for side in ("in_features", "out_features"))
    assert (len(linears), a, b) == (80, 1_230_848, 1_876_992)
    assert sum(value.numel() for value in model.language_model.parameters()) == 457_179_136
    assert (model.config.vision_config.image_size, model.config.vision_config.patch_size) == (224, 16)


def test_training_lowers_the_loss_and_leaves_the_base_as_it_was(vlm, examples):
    adapter, features = Adapter.attach(vlm), ImageFeatures(vlm)
    mark, encoded = vlm.fingerprint(), [vlm.encode(example) for example in examples]
    settings = TrainSettings(lr=1e-2, epochs=8)
    start = adapter.initial(stream(0, "adapter"))
    done = train(vlm, adapter, features, encoded, start, frozenset(adapter.keys), settings, stream(0, "order"))
    assert done.metrics["loss_last"] < 0.7 * done.metrics["loss_first"]
    assert vlm.fingerprint() == mark


def test_gradients_are_autograd_s_through_the_fused_linears(folder, examples):
    vlm = load_model(str(folder), dtype="float64")
    _, adapter, features = equipped(vlm, rank=2)
    adapter.train_only(adapter.keys)
    batch = collate(vlm, features, [vlm.encode(example) for example in examples[:3]])

    def loss():
        return torch.nn.functional.cross_entropy(vlm.head(answer_hidden(vlm, batch)), batch.targets)

    loss().backward()
    place = adapter.grad.abs().argmax()
    with torch.no_grad():
        steps = []
        for step in (1e-6, -1e-6):
            adapter.flat[place] += step
            steps.append(float(loss()))
            adapter.flat[place] -= step
    assert (steps[0] - steps[1]) / 2e-6 == pytest.approx(float(adapter.grad[place]), rel=1e-5)


def test_batched_decoding_with_a_cache_says_what_one_at_a_time_without_says(vlm, examples):
    _, _, features = equipped(vlm)
    prompts = [vlm.encode(example, with_answer=False) for example in examples]
    found = generate_ids(vlm, features, prompts, max_new_tokens=8)
    assert len({ids.tobytes() for ids in found}) > 1
    for prompt, ids in zip(prompts[:3], found, strict=False):
        sequence = prompt.input_ids
        image = features([prompt.image])
        for token in ids:
            with torch.no_grad():
                logits = vlm.head(vlm.path.decode(vlm.path.inputs(torch.from_numpy(sequence)[None], (), image)))[0, -1]
            logits[vlm.image_token] = -torch.inf
            assert int(logits.argmax()) == token
            sequence = np.append(sequence, token)
    assert all("<unk>" not in text for text in captions(vlm, features, prompts, max_new_tokens=8))


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_peft_loads_the_adapter_and_gives_the_same_logits(folder, examples, tmp_path):
    vlm, adapter, _ = equipped(load_model(str(folder)), rank=4, scale=1.5)
    save_peft(tmp_path / "adapter", adapter.read(), 4, 1.5, str(folder))
    base = load_model(str(folder))
    before = own_logits(base.model, base, examples[0])
    with quiet():
        model = PeftModel.from_pretrained(base.model, str(tmp_path / "adapter"))
    ours = own_logits(vlm.model, vlm, examples[0])
    torch.testing.assert_close(own_logits(model, base, examples[0]), ours, atol=1e-4, rtol=1e-4)
    assert float((ours - before).abs().max()) > 0.1


def test_a_merged_model_is_a_folder_that_loads_and_gives_the_same_logits(folder, examples, tmp_path):
    vlm, adapter, _ = equipped(load_model(str(folder)), rank=4)
    save_merged(tmp_path / "merged", vlm, adapter.read(), 1.0)
    merged = load_model(str(tmp_path / "merged"))
    ours = own_logits(vlm.model, vlm, examples[0])
    torch.testing.assert_close(own_logits(merged.model, merged, examples[0]), ours, atol=1e-4, rtol=1e-4)
    assert merged.encode(examples[0]).input_ids.tolist() == vlm.encode(examples[0]).input_ids.tolist()


def altered(folder, tmp_path, change):
    """A copy with other tensors."""
    save_tinyllava(tmp_path)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return str(tmp_path)


def test_missing_left_over_and_misshapen_weights_are_named_in_one_line(folder, tmp_path):
    def change(tensors):
        del tensors["language_model.transformer.layers.1.ffn.proj_2.weight"]
        tensors["connector._connector.4.weight"] = np.zeros((2, 2), np.float16)
        tensors["language_model.transformer.norm.weight"] = np.ones(WIDTH + 1, np.float16)

    with pytest.raises(ModelError) as error:
        load_model(altered(folder, tmp_path, change))
    text = str(error.value)
    assert "1 missing (first language_model.transformer.layers.1.ffn.proj_2.weight)" in text
    assert "1 left over (first connector._connector.4.weight)" in text
    assert "1 of another shape (first language_model.transformer.norm.weight)" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"connector_type": "resampler"}, "connector 'resampler' is not supported, only linear, mlp2x_gelu"),
        ({"vision_config": {"model_type": "siglip_vision_model"}}, "TinyLLaVA with siglip_vision_model is not"),
        ({"text_config": {"model_type": "phi"}}, "TinyLLaVA with phi is not supported, only openelm"),
        ({"vision_feature_select_strategy": "cls_patch"}, "vision features by 'cls_patch' are not supported"),
        ({"pad_token_id": 3}, "the tokenizer of .* has <unk> at 0, the model at 3"),
    ],
)
def test_another_member_of_the_family_is_refused_in_one_line(tmp_path, change, message):
    save_tinyllava(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelError, match=message) as error:
        load_model(str(tmp_path))
    assert "\n" not in str(error.value)


def test_a_tokenizer_that_cannot_be_read_is_one_line_with_the_extra_that_reads_it(tmp_path):
    save_tinyllava(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer.model").write_bytes(b"no model")
    with pytest.raises(ModelError, match=r"cannot read the tokenizer of .*pip install 'fedrand\[tinyllava\]'") as error:
        load_model(str(tmp_path))
    assert "\n" not in str(error.value)


def test_the_code_that_a_folder_brings_along_is_never_run(tmp_path):
    save_tinyllava(tmp_path)
    for name in ("configuration.py", "modeling_tinyllava_elm.py"):
        (tmp_path / name).write_text("raise SystemExit('run')\n")
    assert type(load_model(str(tmp_path)).model) is TinyLlavaForConditionalGeneration


def test_the_defaults_are_the_published_0_55b_model():
    config = TinyLlavaConfig(text_config={"model_type": "openelm"}, vision_config={"model_type": "clip_vision_model"})
    assert isinstance(config.text_config, OpenELMConfig) and isinstance(config.vision_config, CLIPVisionConfig)
    assert (config.text_config.model_dim, config.vision_config.hidden_size, config.image_token_id) == (1536, 768, 0)
    assert config.get_text_config().max_position_embeddings == 2048
