"""Greedy captions: token for token those of transformers' own generate, whoever else is in the batch."""

from dataclasses import replace

import numpy as np
import pytest
from equipment import equipped

from fedrand.generate import captions, descriptions, generate_ids
from fedrand.models.load import quiet
from fedrand.models.runtime import torch
from fedrand.score import token_scores


def by_transformers(vlm, example, max_new_tokens):
    encoded = vlm.encode(example, with_answer=False)
    ids = torch.from_numpy(encoded.input_ids)[None]
    pixels = {} if encoded.image is None else {"pixel_values": vlm.path.pixels([encoded.image.load()])}
    with quiet():
        out = vlm.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            **pixels,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            suppress_tokens=[vlm.image_token, vlm.pad],
        )
    said = out[0, ids.shape[1] :].tolist()
    return said[: said.index(2)] if 2 in said else said


@pytest.fixture
def talkative(engine):
    """The engine, with an end of text that some examples reach early and others never."""
    vlm = engine[0]
    weight = vlm.model.get_output_embeddings().weight
    weight.data = weight.data.clone()
    weight.data[2] *= 2.5
    return engine


@pytest.fixture
def asked(examples):
    """Prompts of differing text and length, some without an image."""
    return [
        replace(one, prompt=f"{{image}} {one.answer} USER:", image=None if number in (3, 4) else one.image)
        for number, one in enumerate(examples)
    ]


@pytest.fixture
def forced(engine, monkeypatch):
    """The engine with a head that prefers the tokens of a list, one after the other."""

    def force(*wishes):
        steps = iter(wishes)

        def head(hidden):
            logits = torch.zeros(*hidden.shape[:-1], 300)
            for height, token in enumerate(next(steps)):
                logits[..., token] = 9.0 - height
            return logits

        monkeypatch.setattr(engine[0], "head", head)
        return engine

    return force


def test_every_caption_is_token_for_token_transformers_own(talkative, asked):
    vlm, _, features = talkative
    prompts = [vlm.encode(example, with_answer=False) for example in asked]
    found = generate_ids(vlm, features, prompts, max_new_tokens=12, batch_size=7)
    for example, ids in zip(asked, found, strict=True):
        assert ids.tolist() == by_transformers(vlm, example, 12), example.id
    lengths = {len(ids) for ids in found}
    assert len(lengths) > 2 and max(lengths) == 12  # some end early, some run to the bound


def test_a_caption_is_cut_at_the_end_of_text(forced, examples):
    vlm, _, features = forced([40], [41], [2], [42])
    (ids,) = generate_ids(vlm, features, [vlm.encode(examples[0], with_answer=False)])
    assert ids.tolist() == [40, 41]


def test_each_row_keeps_its_own_words_when_another_ends_before_it(engine, examples, monkeypatch):
    vlm, _, features = engine
    steps = iter([[40, 2, 41], [42, 43], [2, 44], [2]])
    monkeypatch.setattr(vlm, "head", lambda hidden: torch.eye(300)[next(steps)])
    prompts = [vlm.encode(example, with_answer=False) for example in examples[:3]]
    assert [ids.tolist() for ids in generate_ids(vlm, features, prompts)] == [[40, 42], [], [41, 43, 44]]


def test_image_tokens_and_padding_are_never_said(forced, examples):
    vlm, _, features = forced([3, 0, 40], [0, 3, 41], [2])
    (ids,) = generate_ids(vlm, features, [vlm.encode(examples[0], with_answer=False)])
    assert ids.tolist() == [40, 41]


def test_padding_that_is_the_end_of_text_still_ends_a_caption(forced, examples):
    vlm, _, features = forced([40], [2], [41])
    vlm.pad = 2
    (ids,) = generate_ids(vlm, features, [vlm.encode(examples[0], with_answer=False)])
    assert ids.tolist() == [40]


def test_a_caption_stops_at_the_end_of_the_context(engine, examples):
    vlm, _, features = engine
    prompt = vlm.encode(examples[0], with_answer=False)
    vlm.ends, vlm.max_length = (), len(prompt) + 3
    assert [len(ids) for ids in generate_ids(vlm, features, [prompt])] == [3]


def test_captions_are_text_in_the_order_given(talkative, asked):
    vlm, _, features = talkative
    prompts = [vlm.encode(example, with_answer=False) for example in asked]
    texts = captions(vlm, features, prompts, max_new_tokens=12)
    assert texts == captions(vlm, features, prompts[::-1], max_new_tokens=12, batch_size=1)[::-1]
    assert len(set(texts)) > 2
    assert not any(special in text for text in texts for special in ("<s>", "</s>", "<image>", "<pad>"))


def test_no_prompt_gives_no_caption(engine):
    assert captions(engine[0], engine[2], []) == []


def test_a_descriptions_entropies_are_those_of_a_second_pass_over_it(exact_vlm, examples):
    vlm, _, features = equipped(exact_vlm)
    vlm.ends = ()  # a random model would end at once
    prompts = [vlm.encode(example, with_answer=False) for example in examples]
    found = descriptions(vlm, features, prompts, max_new_tokens=9, batch_size=5)
    for prompt, said in zip(prompts, found, strict=True):
        whole = replace(prompt, input_ids=np.concatenate([prompt.input_ids, said.ids]))
        (again,) = token_scores(vlm, features, [whole])
        assert said.renyi.shape == (4, 9)
        assert said.renyi == pytest.approx(again.renyi, abs=1e-10)


def test_a_description_that_ends_has_the_entropies_of_its_end(talkative, asked):
    vlm, _, features = talkative
    prompts = [vlm.encode(example, with_answer=False) for example in asked]
    found = descriptions(vlm, features, prompts, max_new_tokens=12, batch_size=7)
    assert [said.ids.tolist() for said in found] == [ids.tolist() for ids in generate_ids(vlm, features, prompts, 12)]
    assert [said.renyi.shape[1] - len(said.ids) for said in found] == [int(len(said.ids) < 12) for said in found]
    assert len({len(said.ids) for said in found}) > 2
    for prompt, said in zip(prompts, found, strict=True):
        assert said.renyi == pytest.approx(descriptions(vlm, features, [prompt], 12)[0].renyi, abs=1e-4)
