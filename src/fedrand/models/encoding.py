"""An example as token ids: the prompt with its image tokens, then the answer and the end of the text.

The labels of the paper's loss (decision 6) are the tokens from `answer_start` on; a position, not a value, says what is
a label, so an end of text that is also the padding keeps its label.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fedrand.data.example import Example, ImageSource
from fedrand.data.prompts import PLACEHOLDER, render
from fedrand.errors import InputError


class ExampleError(InputError):
    """An example that cannot be used with this model: its id, what is wrong, what to do. No text of the example."""


@dataclass(frozen=True)
class Encoded:
    """input_ids: int64 [T], image tokens expanded. Tokens from `answer_start` on are labels; none when it is T.
    per_token: what else the model's own forward wants to know of each token, int64 [T], by the name of its argument."""

    id: str
    input_ids: NDArray[np.int64]
    answer_start: int
    image: ImageSource | None
    per_token: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def labels(self) -> NDArray[np.int64]:
        """input_ids where a label is, -100 elsewhere, [T]."""
        return np.where(np.arange(len(self)) < self.answer_start, -100, self.input_ids)


class Prompt(NamedTuple):
    """Token ids with the image's expanded, and the values of `Encoded.per_token` for each."""

    ids: list[int]
    per_token: Mapping[str, list[int]] = {}


class Layout(Protocol):
    """How a model writes an image among its tokens. image_text: one image in the text; image_token: the id that its
    features stand at, -1 when there is none; marks: ids that a text may only have from an image; answer_values:
    `per_token` on the answer."""

    image_text: str
    image_token: int
    marks: frozenset[int]
    answer_values: Mapping[str, int]

    def expand(self, start: list[int], text: str, image: ImageSource | None) -> Prompt:
        """The prompt `text`, tokenised to `start`, with the tokens that its image takes."""
        ...


class OneLength:
    """Every image takes `image_tokens` tokens in the place of one."""

    def __init__(self, image_text: str, image_token: int, image_tokens: int) -> None:
        self.image_text, self.image_token, self.image_tokens = image_text, image_token, image_tokens
        self.marks, self.answer_values = frozenset({image_token}), dict[str, int]()

    def expand(self, start: list[int], text: str, image: ImageSource | None) -> Prompt:
        return Prompt([t for t in start for _ in range(self.image_tokens if t == self.image_token else 1)])


@dataclass(frozen=True)
class Encoder:
    """tokenizer: of the model. end: id that closes an answer. limit: positions the language model has."""

    tokenizer: Any
    layout: Layout
    end: int
    limit: int

    def encode(self, example: Example, with_image: bool = True, with_answer: bool = True) -> Encoded:
        """Token ids of an example; nothing is ever cut off. ExampleError when it has no answer or is too long."""
        if with_answer and not example.answer.strip():
            raise ExampleError(f"example {example.id} has no answer, so nothing to learn; give it one or remove it")
        image = example.image if with_image else None
        self._refuse_unreadable(example, image)
        text = render(example, with_image).replace(PLACEHOLDER, self.layout.image_text)
        start = self._ids(text)
        answer = [*self._answer(text, start, " " + example.answer), self.end] if with_answer else []
        self._refuse_written_image(example, start + answer, image is not None)
        ids, per_token = self.layout.expand(start, text, image)
        if len(ids) + len(answer) > self.limit:
            raise ExampleError(
                f"example {example.id} has {len(ids)} prompt and {len(answer)} answer tokens, the model's limit is "
                f"{self.limit}; shorten or remove it"
            )
        values = self.layout.answer_values
        beside = {name: np.array(of + [values[name]] * len(answer), np.int64) for name, of in per_token.items()}
        return Encoded(example.id, np.array(ids + answer, np.int64), len(ids), image, beside)

    def _ids(self, text: str, special: bool = True) -> list[int]:
        return self.tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"]  # too long: our error

    def _answer(self, prompt: str, start: list[int], answer: str) -> list[int]:
        """The answer's tokens after this prompt; on their own where the tokenizer would merge the two."""
        whole = self._ids(prompt + answer)
        return whole[len(start) :] if whole[: len(start)] == start else self._ids(answer, special=False)

    def _refuse_unreadable(self, example: Example, image: ImageSource | None) -> None:
        if image is not None and self.layout.image_token < 0:
            raise ExampleError(
                f"example {example.id} has an image, but the model reads text only; choose an image-text-to-text model"
            )

    def _refuse_written_image(self, example: Example, ids: list[int], expected: bool) -> None:
        """A text that writes out an image's token would be taken for one."""
        if (found := sum(token in self.layout.marks for token in ids)) != expected:
            raise ExampleError(
                f"example {example.id} has {found} image tokens in its text, {int(expected)} expected; "
                f"remove '{self.layout.image_text}' from its text"
            )
