"""Canaries: records of noise that a fair coin puts into a client's training data or keeps out of it.

They resemble nothing and were drawn before training, so whoever tells the ones inside from the ones outside has a
lower bound on the epsilon of the whole training (Steinke et al., 2023; `fedrand.audit.canaries`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from fedrand.data.example import Example, ImageSource
from fedrand.randomness import stream

PREFIX = "canary-"
SIDE, BLOCK, WORDS = 8, 8, 6  # blocks a side, pixels a block, words a caption

Examples = tuple[Example, ...]
Halves = TypeVar("Halves", bound=tuple[Examples, Examples])


@dataclass(frozen=True)
class Pattern(ImageSource):
    """A picture of random colour blocks, drawn from its name; `path` is a word, there is no file."""

    def load(self) -> Image.Image:
        """RGB, SIDE * BLOCK pixels square."""
        blocks = stream(0, "canary", self.member).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
        return Image.fromarray(blocks.repeat(BLOCK, 0).repeat(BLOCK, 1))

    def check(self) -> None:
        """Nothing can be missing."""


def canaries(count: int, seed: int, prompt: str, words: Sequence[str]) -> Examples:
    """`count` random pictures, each with a caption of words drawn at random, "canary-0000" and so on."""
    rng, known = stream(seed, "canaries", "captions"), sorted(set(words))
    captions = [" ".join(rng.choice(known, WORDS).tolist()) for _ in range(count)]
    return tuple(
        Example(
            id=f"{PREFIX}{number:04d}",
            image=Pattern(Path("canary"), f"{seed}/{number}"),
            prompt=prompt,
            answer=caption,
            references=(caption,),
            label="canary",
        )
        for number, caption in enumerate(captions)
    )


def planted(
    clients: Mapping[str, Halves], pool: Sequence[Example], count: int, seed: int, prompt: str
) -> dict[str, Halves]:
    """Clients' (members, held out) with `count` canaries dealt out in turn, each on the side of its own fair coin.

    prompt: of captions; words come from the answers of the pool.
    """
    made = canaries(count, seed, prompt, [word for example in pool for word in example.answer.split()])
    inside = stream(seed, "canaries", "coins").random(count) < 0.5
    return {
        name: type(halves)(
            *(
                (*half, *(c for i, c in enumerate(made) if i % len(clients) == turn and inside[i] == side))
                for half, side in zip(halves, (True, False), strict=True)
            )
        )
        for turn, (name, halves) in enumerate(clients.items())
    }


def ordinary(examples: Examples) -> Examples:
    """Those that are no canaries."""
    return tuple(example for example in examples if not example.id.startswith(PREFIX))


def canaries_of(examples: Examples) -> Examples:
    """Those that are."""
    return tuple(example for example in examples if example.id.startswith(PREFIX))
