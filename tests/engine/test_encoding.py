"""Token ids and labels: golden for each family, never cut, never on image or padding."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_models import CONTEXT

from fedrand.batch import collate
from fedrand.data.example import Example
from fedrand.data.prompts import render
from fedrand.models import ExampleError, ImageFeatures, ModelError
from fedrand.models.encoding import Encoder, OneLength

IMAGE, START, END = 3, 1, 2
IMAGE_TOKENS = {"fast_vlm": 16, "llava": 4}


def test_an_example_is_prompt_with_image_tokens_then_answer_then_end(vlm, examples):
    encoded = vlm.encode(examples[0])
    ids = encoded.input_ids.tolist()
    count = IMAGE_TOKENS[vlm.model.config.model_type]
    assert encoded.id == "e0"
    assert ids.count(IMAGE) == count
    at = ids.index(IMAGE)
    text = vlm.tokenizer.decode
    assert (ids[0], text(ids[1:at])) == (START, "Briefly describe given image. USER: ")
    assert ids[at : at + count] == [IMAGE] * count
    assert text(ids[at + count : encoded.answer_start]) == "\n A short image description: ASSISTANT:"
    assert (text(ids[encoded.answer_start : -1]), ids[-1]) == (" a red cat", END)


def test_labels_are_the_answer_and_the_end_and_nothing_else(vlm, examples):
    encoded = vlm.encode(examples[0])
    labels = encoded.labels
    assert (labels[: encoded.answer_start] == -100).all()
    assert labels[encoded.answer_start :].tolist() == encoded.input_ids[encoded.answer_start :].tolist()
    assert labels[-1] == END and IMAGE not in labels


def test_the_processor_itself_makes_the_same_ids(vlm, examples):
    text = f"{render(examples[0])} {examples[0].answer}</s>"
    theirs = vlm.processor(text=text, images=examples[0].image.load(), return_tensors="np")["input_ids"][0]
    assert theirs.tolist() == vlm.encode(examples[0]).input_ids.tolist()


def test_padding_that_is_the_end_of_text_leaves_the_closing_end_its_label(fast_vlm, examples):
    fast_vlm.pad = END
    encoded = [fast_vlm.encode(example) for example in examples[:3]]
    batch = collate(fast_vlm, ImageFeatures(fast_vlm), encoded)
    assert batch.targets.tolist() == [t for one in encoded for t in one.input_ids[one.answer_start :].tolist()]
    assert batch.counts == tuple(len(one) - one.answer_start for one in encoded)


def test_a_prompt_alone_is_the_beginning_of_prompt_and_answer(vlm, examples):
    prompt, whole = vlm.encode(examples[2], with_answer=False), vlm.encode(examples[2])
    assert prompt.answer_start == len(prompt) == whole.answer_start
    assert np.array_equal(whole.input_ids[: len(prompt)], prompt.input_ids)


def test_without_image_there_are_no_image_tokens(vlm, examples):
    for encoded in (vlm.encode(examples[0], with_image=False), vlm.encode(replace(examples[0], image=None))):
        assert encoded.image is None and IMAGE not in encoded.input_ids


def test_a_caption_longer_than_the_context_is_refused_by_id_and_limit(vlm, examples):
    long = replace(examples[0], answer="a red cat " * 60)
    message = rf"example e0 has \d+ prompt and \d+ answer tokens, the model's limit is {CONTEXT}"
    with pytest.raises(ExampleError, match=message):
        vlm.encode(long)


def test_a_caption_that_just_fits_is_not_cut(fast_vlm, examples):
    room = CONTEXT - len(fast_vlm.encode(examples[0], with_answer=False)) - 1
    answer = " ".join(["a"] * room)
    assert len(fast_vlm.encode(replace(examples[0], answer=answer))) == CONTEXT
    with pytest.raises(ExampleError):
        fast_vlm.encode(replace(examples[0], answer=answer + " a"))


@pytest.mark.parametrize("answer", ["", "  \n"])
def test_an_example_without_an_answer_has_no_label_and_is_refused(fast_vlm, examples, answer):
    with pytest.raises(ExampleError, match="example e0 has no answer"):
        fast_vlm.encode(replace(examples[0], answer=answer))
    assert len(fast_vlm.encode(replace(examples[0], answer=answer), with_answer=False))


def test_a_tokenizer_that_would_merge_prompt_and_answer_keeps_them_apart():
    vocabulary = {"A": 5, "B": 6, "AB": 7, " B": 8}

    def tokenizer(text, add_special_tokens, verbose=True):
        ids = [vocabulary["AB"]] if text == "A B" else [vocabulary[text]]
        return {"input_ids": ids}

    encoder = Encoder(tokenizer, OneLength("<image>", 3, 1), end=2, limit=9)
    encoded = encoder.encode(Example("x", None, "{image}A", "B", ()))
    assert (encoded.input_ids.tolist(), encoded.answer_start) == ([5, 8, 2], 1)


def test_an_error_never_holds_the_text_of_an_example(vlm, examples):
    with pytest.raises(ExampleError) as error:
        vlm.encode(replace(examples[0], answer="secret " * 200))
    assert "secret" not in str(error.value)
    assert issubclass(ExampleError, ValueError) and issubclass(ModelError, ValueError)
