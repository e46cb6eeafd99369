"""One example of a vision-language dataset, and where its image lies."""

import os
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

from PIL import Image, ImageOps

from fedrand.errors import InputError


class DataError(InputError):
    """Data that cannot be used; one line: the place, what is wrong, what to do."""


@dataclass(frozen=True)
class ImageSource:
    """Where an image lies: a file, or a member of a zip file. Nothing is opened before `load`."""

    path: Path
    member: str = ""

    @property
    def key(self) -> str:
        """A name that no other image has: the path, and the member after `::`."""
        return f"{self.path}::{self.member}" if self.member else str(self.path)

    def load(self) -> Image.Image:
        """The picture as RGB, turned upright, transparent parts white. DataError when it cannot be read."""
        try:
            with self._open() as stream, Image.open(stream) as image:
                return _on_white(ImageOps.exif_transpose(image))
        except _UNREADABLE as error:
            raise self._broken(error) from error

    def check(self) -> None:
        """Read the header only; DataError when there is no image."""
        try:
            with self._open() as stream, Image.open(stream):
                pass
        except _UNREADABLE as error:
            raise self._broken(error) from error

    def _open(self) -> IO[bytes]:
        return _archive(self.path, os.getpid()).open(self.member) if self.member else self.path.open("rb")

    def _broken(self, error: Exception) -> DataError:
        reason = "no such file" if isinstance(error, (FileNotFoundError, KeyError)) else type(error).__name__
        return DataError(f"cannot read image {self.key} ({reason}); replace it or remove its example")


# What Pillow and zipfile raise on missing, cut or foreign files; Pillow's PNG reader raises SyntaxError.
_UNREADABLE = (OSError, SyntaxError, ValueError, KeyError, zipfile.BadZipFile, Image.DecompressionBombError)


@lru_cache(maxsize=4)
def _archive(path: Path, process: int) -> zipfile.ZipFile:
    """An open archive per process: a file position shared with a fork would mix up two readers."""
    return zipfile.ZipFile(path)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):  # an x-ray; Pillow would cut what is above 255
        image = image.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    if not image.has_transparency_data:
        return image.convert("RGB")
    rgba = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")


@dataclass(frozen=True)
class Example:
    """What a model is asked and what it should say."""

    id: str  # unique in its dataset
    image: ImageSource | None
    prompt: str  # a name in prompts.TEMPLATES, or a template of one's own
    answer: str  # what is trained on
    references: tuple[str, ...]  # what captions are measured against
    label: str = ""  # what the clients' skew is drawn over
    sublabel: str = ""
    group: str = ""  # variants and duplicates share it; no split ever parts a group
    question: str = ""
    hint: str = ""
    choices: tuple[str, ...] = ()
    client: str = ""  # whose it is, where the data says so
    split: str = ""  # what it is for, where the data says so

    @property
    def unit(self) -> str:
        """What splits deal out: the group, or the example itself when it has none."""
        return self.group or self.id
