"""An example as token ids: the prompt with its image tokens, then the answer and the end of the text.

The labels of the paper's loss (decision 6) are the tokens from `answer_start` on; a position, not a value, says what is
a label, so an end of text that is also the padding keeps its label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedrand.data.example import Example, ImageSource
from fedrand.data.prompts import PLACEHOLDER, render
from fedrand.errors import InputError


class ExampleError(InputError):
    """An example that cannot be used with this model: its id, what is wrong, what to do. No text of the example."""


@dataclass(frozen=True)
class Encoded:
    """input_ids: int64 [T], image tokens expanded. Tokens from `answer_start` on are labels; none when it is T."""

    id: str
    input_ids: NDArray[np.int64]
    answer_start: int
    image: ImageSource | None

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def labels(self) -> NDArray[np.int64]:
        """input_ids where a label is, -100 elsewhere, [T]."""
        return np.where(np.arange(len(self)) < self.answer_start, -100, self.input_ids)


@dataclass(frozen=True)
class Encoder:
    """tokenizer: of the model. image_text: how the tokenizer writes one image, image_token: its id, repeated
    `image_tokens` times. end: id that closes an answer. limit: positions the language model has."""

    tokenizer: Any
    image_text: str
    image_token: int
    image_tokens: int
    end: int
    limit: int

    def encode(self, example: Example, with_image: bool = True, with_answer: bool = True) -> Encoded:
        """Token ids of an example; nothing is ever cut off. ExampleError when it has no answer or is too long."""
        if with_answer and not example.answer.strip():
            raise ExampleError(f"example {example.id} has no answer, so nothing to learn; give it one or remove it")
        prompt = render(example, with_image).replace(PLACEHOLDER, self.image_text)
        start = self._ids(prompt)
        answer = [*self._answer(prompt, start, " " + example.answer), self.end] if with_answer else []
        image = example.image if with_image else None
        ids = self._expanded(start, example.id, image is not None)
        if len(ids) + len(answer) > self.limit:
            raise ExampleError(
                f"example {example.id} has {len(ids)} prompt and {len(answer)} answer tokens, the model's limit is "
                f"{self.limit}; shorten or remove it"
            )
        return Encoded(example.id, np.array(ids + answer, np.int64), len(ids), image)

    def _ids(self, text: str, special: bool = True) -> list[int]:
        return self.tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"]  # too long: our error

    def _answer(self, prompt: str, start: list[int], answer: str) -> list[int]:
        """The answer's tokens after this prompt; on their own where the tokenizer would merge the two."""
        whole = self._ids(prompt + answer)
        return whole[len(start) :] if whole[: len(start)] == start else self._ids(answer, special=False)

    def _expanded(self, ids: list[int], name: str, expected: bool) -> list[int]:
        if (found := ids.count(self.image_token)) != expected:
            raise ExampleError(
                f"example {name} has {found} image tokens in its prompt, {int(expected)} expected; "
                f"remove '{self.image_text}' from its text"
            )
        return [token for token in ids for _ in range(self.image_tokens if token == self.image_token else 1)]
