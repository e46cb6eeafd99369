"""Families that run on their own forward, and models that read text only: the same callers, the model's own results."""

from dataclasses import replace

import numpy as np
import pytest
from equipment import equipped, random_params
from peft import PeftModel
from PIL import Image
from test_gradients import one_by_one
from tiny_families import IMAGES, MODELS, save_family
from transformers import AutoModelForImageTextToText

from fedrand.adapter_file import save_merged, save_peft
from fedrand.choices import choice_scores
from fedrand.data.example import ImageSource
from fedrand.data.prompts import PLACEHOLDER, render
from fedrand.errors import InputError
from fedrand.generate import generate_ids
from fedrand.gradients import factor_gradients
from fedrand.models import ExampleError, ImageFeatures, language_linears, load_model
from fedrand.models.load import quiet
from fedrand.models.runtime import torch
from fedrand.params import norm
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.recipe import load_recipe
from fedrand.score import token_scores
from fedrand.train import TrainSettings, train
from fedrand.world import build

pytestmark = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # PaliGemma's processor
]

# Image tokens of a picture of 64 x 48. LLaVA-OneVision: 16 of the whole, 4 rows of 6 and a line end.
COUNTS = {
    "llava_onevision": 16 + 4 * (6 + 1),
    "qwen2_vl": 12,
    "qwen2_5_vl": 12,
    "smolvlm": 20,
    "paligemma": 16,
    "gemma3": 4,
}


@pytest.fixture(scope="session")
def own_folders(tmp_path_factory):
    """family -> model folder."""
    with quiet():
        return {family: save_family(tmp_path_factory.mktemp(family), family) for family in MODELS}


@pytest.fixture(scope="session")
def shapes(examples, tmp_path_factory):
    """Six of the examples with images of three shapes; one without."""
    folder = tmp_path_factory.mktemp("shapes")
    made = []
    for number, size in enumerate([(64, 48), (32, 96), (40, 40), (64, 48), (32, 96)]):
        path = folder / f"{number}.png"
        examples[number].image.load().resize(size, Image.Resampling.NEAREST).save(path)
        made.append(replace(examples[number], image=ImageSource(path)))
    return (*made, replace(examples[5], image=None))


@pytest.fixture(params=IMAGES)
def slow(request, own_folders):
    """Each family in turn, float64."""
    vlm = load_model(str(own_folders[request.param]), dtype="float64")
    assert vlm.path.slow
    return vlm


@pytest.fixture(params=["llama", "gpt_neox"])
def text_model(request, own_folders):
    return load_model(str(own_folders[request.param]), dtype="float64")


def given(vlm, example):
    """What the processor itself makes of an example's prompt."""
    text = render(example).replace(PLACEHOLDER, vlm.path.layout.image_text)
    if example.image is None:
        return dict(vlm.tokenizer([text], return_tensors="pt", return_token_type_ids=False))
    made = vlm.processor(text=[text], images=[[example.image.load()]], return_tensors="pt")
    return {n: v.to(vlm.dtype) if v.is_floating_point() else v for n, v in made.items() if n != "labels"}


def said_by_transformers(vlm, example, bound):
    made = given(vlm, example)
    with quiet():
        out = vlm.model.generate(
            **made, max_new_tokens=bound, do_sample=False, suppress_tokens=vlm.never_said, eos_token_id=list(vlm.ends)
        )
    said = out[0, made["input_ids"].shape[1] :].tolist()
    return said[: said.index(2)] if 2 in said else said


def test_a_prompt_that_the_processor_makes_alike_for_two_images_is_kept_once(slow, shapes):
    encoded = [slow.encode(shapes[place]) for place in (0, 3)]
    kept = {key: prompt for (_, key), prompt in slow.path.layout._known.items()}
    assert kept[shapes[0].image.key] is kept[shapes[3].image.key]
    starts = [one.input_ids[: one.answer_start].tolist() for one in encoded]
    assert starts[0] == starts[1] == given(slow, shapes[3])["input_ids"][0].tolist()


def test_labels_are_the_answer_and_the_end_and_never_an_image_or_padding(slow, shapes):
    encoded, family = slow.encode(shapes[0]), slow.model.config.model_type
    decode = slow.tokenizer.decode
    learnt = encoded.labels[encoded.labels != -100].tolist()
    assert (decode(learnt[:-1]), learnt[-1]) == (" a red cat", 2)
    assert learnt == encoded.input_ids[encoded.answer_start :].tolist()
    assert encoded.input_ids.tolist().count(slow.image_token) == COUNTS[family]
    assert slow.image_token not in learnt
    prompt = encoded.input_ids[: encoded.answer_start].tolist()
    assert prompt == given(slow, shapes[0])["input_ids"][0].tolist()
    assert decode([token for token in prompt if token > 3 and token < 300]).startswith("Briefly describe given image.")


def test_images_take_as_many_tokens_as_the_processor_says(slow, shapes):
    counts = [slow.encode(one).input_ids.tolist().count(slow.image_token) for one in shapes]
    assert counts[-1] == 0 and all(counts[:-1])
    varies = len({*counts[:-1]}) > 1
    assert varies == (slow.model.config.model_type in ("llava_onevision", "qwen2_vl", "qwen2_5_vl", "smolvlm"))


def test_a_padded_batch_gives_each_prompt_the_model_s_own_next_token(slow, shapes):
    encoded = [slow.encode(one) for one in shapes]
    assert len({len(one) for one in encoded}) > 1
    scores = token_scores(slow, ImageFeatures(slow), encoded, batch_size=6, prompt=True)
    for example, one, score in zip(shapes, encoded, scores, strict=True):
        with torch.no_grad():
            own = slow.model(**given(slow, example)).logits[0, -1].log_softmax(-1)
        assert score.logp[0] == pytest.approx(float(own[one.input_ids[one.answer_start]]), abs=1e-6)
        (alone,) = token_scores(slow, ImageFeatures(slow), [one])
        assert score.logp == pytest.approx(alone.logp, abs=1e-6)
        assert (score.image is None) == (example.image is None)


def test_greedy_decoding_is_token_for_token_transformers_own(slow, shapes):
    weight = slow.model.get_output_embeddings().weight
    weight.data = weight.data.clone()
    weight.data[2] *= 2.5  # some end early
    asked = [replace(one, prompt=f"{{image}} {one.answer} USER:") for one in shapes]
    prompts = [slow.encode(one, with_answer=False) for one in (*asked, *asked)]
    found = generate_ids(slow, ImageFeatures(slow), prompts, max_new_tokens=6, batch_size=4)
    for example, ids in zip((*asked, *asked), found, strict=True):
        assert ids.tolist() == said_by_transformers(slow, example, 6), example.id
    assert not any(token in slow.never_said for ids in found for token in ids)


def test_choices_have_the_likelihood_they_have_as_the_answer(slow, shapes):
    choices = (("a cat", "a red dog"), ("a dog", "cat", "a"))
    asked = [replace(one, choices=choices[number % 2]) for number, one in enumerate(shapes[:5])]
    features = ImageFeatures(slow)
    for question, scores in zip(asked, choice_scores(slow, features, asked), strict=True):
        answers = [slow.encode(replace(question, answer=choice)) for choice in question.choices]
        assert scores.raw == pytest.approx([s.logp.sum() for s in token_scores(slow, features, answers)], abs=1e-6)
        blind = [slow.encode(replace(question, answer=choice), with_image=False) for choice in question.choices]
        alone = [s.logp.sum() for s in token_scores(slow, features, blind)]
        assert scores.raw - scores.pmi == pytest.approx(alone, abs=1e-6)


def test_each_example_has_its_own_gradient(slow, shapes):
    vlm, adapter, features = equipped(slow, rank=3)
    encoded, params = [vlm.encode(one) for one in shapes], random_params(adapter, seed=5)
    for one, gradient in zip(encoded, factor_gradients(adapter, features, encoded, params), strict=True):
        expected = one_by_one(vlm, adapter, features, one)
        off = norm({key: gradient[key] - expected[key] for key in adapter.keys})
        assert off < 1e-9 * norm(expected) and norm(expected) > 0


def test_training_lowers_the_loss_and_leaves_the_base_as_it_was(slow, shapes):
    vlm, adapter, features = equipped(slow)
    mark, settings = vlm.fingerprint(), TrainSettings(lr=1e-2, batch_size=4, epochs=8)
    encoded, start = [vlm.encode(one) for one in shapes], adapter.initial(stream(0))
    done = train(vlm, adapter, features, encoded, start, frozenset(adapter.keys), settings, stream(0))
    assert done.metrics["loss_last"] < 0.9 * done.metrics["loss_first"]
    assert vlm.fingerprint() == mark
    assert not any(module.training for module in vlm.model.modules())


def test_the_adapter_reaches_the_layers_of_the_language_model_alone(slow):
    names = language_linears(slow.model)
    inside = ("model.language_model.layers.", "model.text_model.layers.")
    assert len(names) == 2 * 7 and all(name.startswith(inside) for name in names)


def test_peft_loads_the_adapter_and_plain_transformers_the_merged_model(own_folders, shapes, tmp_path):
    for family in IMAGES:
        folder = str(own_folders[family])
        vlm, adapter, _ = equipped(load_model(folder), rank=4)
        made = given(vlm, shapes[0])
        with torch.no_grad(), quiet():
            ours = vlm.model(**made).logits
            base = AutoModelForImageTextToText.from_pretrained(folder)
            assert float((ours - base(**made).logits).abs().max()) > 0.01, family
            save_peft(tmp_path / family, adapter.read(), 4, 1.0, folder)
            tuned = PeftModel.from_pretrained(base, str(tmp_path / family)).eval()
            torch.testing.assert_close(tuned(**made).logits, ours, atol=1e-4, rtol=1e-4)
            save_merged(tmp_path / f"{family}-merged", vlm, adapter.read(), 1.0)
            merged = load_model(str(tmp_path / f"{family}-merged"))
            torch.testing.assert_close(merged.model(**made).logits, ours, atol=1e-4, rtol=1e-4)


def test_an_image_token_written_in_a_text_is_refused_by_id(slow, shapes):
    token = slow.processor.image_token
    with pytest.raises(InputError, match=r"example e0 (has 2 image tokens in its text, 1 expected|writes '<image>')"):
        slow.encode(replace(shapes[0], prompt="{image} {question}", question=token))


def test_a_language_model_trains_scores_and_speaks_on_examples_without_images(text_model, examples):
    blind = [replace(one, image=None) for one in examples[:6]]
    vlm, adapter, features = equipped(text_model)
    assert not vlm.path.slow and vlm.image_token == -1
    encoded = [vlm.encode(one) for one in blind]
    (score,) = token_scores(vlm, features, encoded[:1], prompt=True)
    with torch.no_grad():
        logp = vlm.model(torch.from_numpy(encoded[0].input_ids)[None]).logits[0].log_softmax(-1)
    own = logp[:-1].gather(-1, torch.from_numpy(encoded[0].input_ids)[1:, None])[:, 0].numpy()
    assert score.logp == pytest.approx(own[encoded[0].answer_start - 1 :], abs=1e-6) and score.image is None
    prompts = [vlm.encode(one, with_answer=False) for one in blind]
    for one, ids in zip(blind, generate_ids(vlm, features, prompts, max_new_tokens=5), strict=True):
        assert ids.tolist() == said_by_transformers(vlm, one, 5)
    keys, settings = frozenset(adapter.keys), TrainSettings(lr=1e-2, batch_size=3, epochs=6)
    done = train(vlm, adapter, features, encoded, adapter.initial(stream(0)), keys, settings, stream(0))
    assert done.metrics["loss_last"] < done.metrics["loss_first"]
    assert all(np.isfinite(value).all() for value in done.params.values())


def test_an_image_for_a_language_model_is_refused_by_id_with_the_remedy(text_model, examples):
    with pytest.raises(ExampleError, match=r"example e0 has an image, but the model reads text only; choose an image"):
        text_model.encode(examples[0])
    assert text_model.encode(examples[0], with_image=False).image is None


def test_a_run_says_in_one_line_that_its_model_is_on_the_slow_path(own_folders, shapes, tmp_path):
    for example in shapes[:5]:
        (tmp_path / f"{example.id}.png").write_bytes(example.image.path.read_bytes())
        (tmp_path / f"{example.id}.txt").write_text(example.answer)
    data = [
        "data.name=folder",
        f"data.path={tmp_path}",
        "data.clients=1",
        "train.clients_per_round=1",
        "data.holdout=false",
        "data.partition=iid",
    ]
    said = []
    build(load_recipe("emoji", [f"model.name={own_folders['qwen2_vl']}", *data]), Progress(said.append))
    (line,) = [event.text for event in said if "forward pass" in event.text]
    assert "(qwen2_vl) runs its own forward pass" in line and "\n" not in line
