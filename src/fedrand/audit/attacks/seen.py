"""What one model shows of one example, and the slices of it that attacks on entropies score."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedrand.generate import Description
from fedrand.score import TokenScores

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """answer: token scores of the true answer `text`, with the prompt's positions. said: the model's own description.
    lowered: loss of the answer in lower case, nats per token; the answer's own where nothing changes."""

    text: str
    answer: TokenScores
    said: Description
    lowered: float

    def entropies(self, name: str) -> Values:
        """Renyi entropies [4, positions] of a slice.

        As in VL-MIA's code a slice of T tokens has T - 1 scored positions: those within it that predict a token of it.
        So neither a text's first token nor its end is scored. A slice of one token has the one distribution that
        predicted it, or, in the prompt, that follows it; of an empty description the step that ended it is scored.
        """
        return SLICES[name](self)


def _image(seen: Seen) -> Values:
    if seen.answer.image is None:
        raise ValueError(f"example {seen.answer.id} has no image, so no image slice; leave this attack out")
    return _read(seen.answer.image)


def _instruction(seen: Seen) -> Values:
    if seen.answer.instruction is None or not seen.answer.instruction.size:
        raise ValueError(f"example {seen.answer.id} has no text after its image; leave this attack out")
    return _read(seen.answer.instruction)


def _read(values: Values) -> Values:
    """Of [4, T] at the positions of T tokens, each predicting the next: those that predict a token of the slice."""
    return values[:, :-1] if values.shape[1] > 1 else values


def _written(values: Values, tokens: int) -> Values:
    """Of [4, steps] that predicted `tokens` tokens and perhaps the end: all but the first token's and the end's."""
    return values[:, 1:tokens] if tokens > 1 else values[:, :1]


SLICES: Mapping[str, Callable[[Seen], Values]] = {
    "image": _image,
    "instruction": _instruction,
    "caption": lambda seen: _written(seen.said.renyi, len(seen.said.ids)),
    "answer": lambda seen: _written(seen.answer.renyi, seen.answer.renyi.shape[1] - 1),
}
