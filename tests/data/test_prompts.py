"""The paper's prompts, to the letter."""

from dataclasses import replace
from pathlib import Path

import pytest

from fedrand.data import DataError, Example, ImageSource, render
from fedrand.data.prompts import template

IMAGE = ImageSource(Path("lion.png"))
CAPTION = Example(id="lion", image=IMAGE, prompt="coco", answer="a lion", references=("a lion",))
QUESTION = Example(
    id="q",
    image=IMAGE,
    prompt="scienceqa",
    answer="sea animal",
    references=("sea animal",),
    question="What is it?",
    hint="It lives in water.",
    choices=("bird", "sea animal"),
)
START = "Based on the image, respond to the question with a given options. USER: <image>\n "
OPTIONS = "Options: (A) bird (B) sea animal. Answer: ASSISTANT:"


def test_the_caption_prompt():
    expected = "Briefly describe given image. USER: <image>\n A short image description: ASSISTANT:"
    assert render(CAPTION) == expected


@pytest.mark.parametrize("example", [CAPTION, replace(CAPTION, image=None)])
def test_without_an_image_the_placeholder_is_left_out(example: Example):
    expected = "Briefly describe given image. USER: \n A short image description: ASSISTANT:"
    assert render(example, with_image=False) == expected


def test_an_example_without_an_image_never_gets_a_placeholder():
    assert "<image>" not in render(replace(QUESTION, image=None))


def test_the_question_prompt():
    assert render(QUESTION) == f"{START}Question: What is it? Context: It lives in water. {OPTIONS}"


def test_an_empty_hint_drops_its_context():
    assert render(replace(QUESTION, hint="")) == f"{START}Question: What is it? {OPTIONS}"


def test_the_question_prompt_as_printed_has_no_question():
    printed = replace(QUESTION, prompt="scienceqa-printed")
    assert render(printed) == f"{START}Context: It lives in water. {OPTIONS}"
    assert render(replace(printed, hint="")) == f"{START}{OPTIONS}"


def test_the_prompt_that_the_paper_s_model_was_tuned_on():
    text = render(replace(QUESTION, prompt="tinyllava"))
    assert text.startswith(
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives"
    )
    assert text.endswith("to the user's questions. USER: <image>\nWhat is it? ASSISTANT:")


def test_braces_in_a_question_are_text():
    asked = replace(QUESTION, question="What is {options} in {x}?")
    assert "Question: What is {options} in {x}? Context" in render(asked)


def test_a_template_of_ones_own_is_filled_in():
    assert render(replace(CAPTION, prompt="Look: {image} Say:")) == "Look: <image> Say:"


@pytest.mark.parametrize("text", ["{question}?", "{image} and {image}", "{image} {colour}"])
def test_a_template_without_exactly_one_image_slot_or_with_a_foreign_slot_is_refused(text: str):
    with pytest.raises(DataError, match=r"needs exactly one {image} slot"):
        template(text)


def test_an_unknown_prompt_is_named_with_the_choices():
    with pytest.raises(DataError, match="unknown prompt 'cocoa'; choose from coco, scienceqa"):
        template("cocoa")


@pytest.mark.parametrize("field", ["question", "hint", "answer"])
def test_text_that_holds_the_placeholder_is_refused(field: str):
    with pytest.raises(DataError, match="example q writes '<image>'"):
        render(replace(QUESTION, **{field: "see <image>"}))


def test_more_choices_than_letters_are_refused():
    with pytest.raises(DataError, match="has 27 choices"):
        render(replace(QUESTION, choices=tuple(f"c{i}" for i in range(27))))
