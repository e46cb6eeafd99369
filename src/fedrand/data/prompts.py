"""The prompts of the FedRand paper (appendix A.2) and of its base model by name, filled in for one example."""

import re
import string

from fedrand.data.example import DataError, Example

PLACEHOLDER = "<image>"
# The paper prints its ScienceQA prompt without a question; `scienceqa-printed` is that form to the letter.
TEMPLATES = {
    "coco": "Briefly describe given image. USER: {image}\n A short image description: ASSISTANT:",
    "scienceqa": (
        "Based on the image, respond to the question with a given options. USER: {image}\n "
        "Question: {question} Context: {context}. Options: {options}. Answer: ASSISTANT:"
    ),
    "scienceqa-printed": (
        "Based on the image, respond to the question with a given options. USER: {image}\n "
        "Context: {context}. Options: {options}. Answer: ASSISTANT:"
    ),
    "tinyllava": (  # what the paper's base model was itself tuned on
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, "
        "and polite answers to the user's questions. USER: {image}\n{question} ASSISTANT:"
    ),
}
SLOTS = ("image", "question", "context", "options")
_CONTEXT = "Context: {context}. "


def template(prompt: str) -> str:
    """The template of that name, or `prompt` itself when it is one: text with one {image} slot."""
    text = TEMPLATES.get(prompt, prompt)
    slots = re.findall(r"\{(\w*)\}", text)
    if not slots:
        known = ", ".join(TEMPLATES)
        raise DataError(f"unknown prompt '{prompt}'; choose from {known}, or write a text with an {{image}} slot")
    if slots.count("image") != 1 or set(slots) - set(SLOTS):
        allowed = ", ".join(f"{{{slot}}}" for slot in SLOTS[1:])
        raise DataError(f"prompt '{prompt}' needs exactly one {{image}} slot and, where wanted, {allowed}")
    return text


def asks(text: str) -> bool:
    """Whether a template is for questions: it has a slot for the question or its options."""
    return "{question}" in text or "{options}" in text


def options(choices: tuple[str, ...]) -> str:
    """("cat", "dog") -> "(A) cat (B) dog"."""
    return " ".join(f"({string.ascii_uppercase[i]}) {choice}" for i, choice in enumerate(choices))


def render(example: Example, with_image: bool = True) -> str:
    """The prompt up to "ASSISTANT:"; the answer follows as " " + answer.

    The image stands as `<image>`, or is left out when there is none or `with_image` is false. An empty hint
    drops its context sentence. DataError when the example's own text holds the placeholder.
    """
    _refuse_unfit_text(example)
    text = template(example.prompt)
    values = {
        "image": PLACEHOLDER if with_image and example.image is not None else "",
        "question": example.question,
        "context": example.hint.rstrip(". "),
        "options": options(example.choices),
    }
    if not values["context"]:
        text = text.replace(_CONTEXT, "")
    return re.sub(r"\{(\w+)\}", lambda slot: values[slot[1]], text)


def _refuse_unfit_text(example: Example) -> None:
    texts = (example.question, example.hint, example.answer, *example.choices)
    if any(PLACEHOLDER in text for text in texts):
        raise DataError(f"example {example.id} writes '{PLACEHOLDER}', which stands for the image; remove it")
    if len(example.choices) > len(string.ascii_uppercase):
        raise DataError(f"example {example.id} has {len(example.choices)} choices; 26 at most have a letter")
