"""Projected image features, computed once per image and kept: tower and projector are frozen.

In memory up to a bound, in the order they come; beyond it in a file without a name (`fedrand.models.spill`), to the same
bits. The first ones stay: under training's passes over all images a store that made room for the newest would hold
nothing when it is asked.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedrand.cachefolder import cache
from fedrand.data.example import ImageSource
from fedrand.errors import RunError
from fedrand.models.runtime import torch
from fedrand.models.spill import REMEDY, Place, Spill
from fedrand.models.vlm import VisionLanguageModel
from fedrand.progress import Progress

BATCH = 16  # images opened at a time
MEMORY = 4.0  # GiB, the default
GIB = 2**30
SILENT = Progress()
tree = torch.utils._pytree


class Room(NamedTuple):
    """Bytes of image features in memory and on disk."""

    memory: int
    disk: int


class _Spilt(NamedTuple):
    form: Any
    places: list[Place]


class ImageFeatures:
    """What the model made of each image, in the model's dtype; [tokens, H] on the fast path.

    memory: GiB held on the model's device. folder: of the file for the rest, by default fedrand's in the user's cache.
    RunError, one line, when that file cannot be written.
    """

    def __init__(self, vlm: VisionLanguageModel, memory: float = MEMORY, folder: Path | None = None) -> None:
        self.vlm, self.memory = vlm, memory
        self._held: dict[str, Any] = {}
        self._spilt: dict[str, _Spilt] = {}
        self._held_bytes = 0
        self._file = Spill(folder or place())

    @property
    def folder(self) -> Path:
        """Of the file."""
        return self._file.folder

    def __len__(self) -> int:
        return len(self._held) + len(self._spilt)

    @property
    def size(self) -> Room:
        """What is kept now."""
        return Room(self._held_bytes, self._file.size)

    def prepare(self, images: Iterable[ImageSource | None], progress: Progress = SILENT) -> None:
        """Compute what is not there yet. DataError names an image that cannot be read."""
        missing = {image.key: image for image in images if image is not None and not self._knows(image.key)}
        steps = list(_batches(list(missing.values())))
        for number, batch in enumerate(progress.track(steps, "image features")):
            found = self.vlm.path.see([image.load() for image in batch])
            if not number:
                self._refuse_full_disk(_size(found[0]) * len(missing), progress)
            for image, feature in zip(batch, found, strict=True):
                self._keep(image.key, feature)

    def __call__(self, images: Sequence[ImageSource]) -> list[Any]:
        """What the model made of each image."""
        self.prepare(images)
        return [self._held[image.key] if image.key in self._held else self._read(image.key) for image in images]

    def _knows(self, key: str) -> bool:
        return key in self._held or key in self._spilt

    def _keep(self, key: str, feature: Any) -> None:
        size = _size(feature)
        if self._held_bytes + size <= self.memory * GIB:
            self._held[key] = feature
            self._held_bytes += size
        else:
            leaves, form = tree.tree_flatten(feature)
            self._spilt[key] = _Spilt(form, [self._file.put(leaf) for leaf in leaves])

    def _read(self, key: str) -> Any:
        form, places = self._spilt[key]
        return tree.tree_unflatten([self._file.get(place).to(self.vlm.device) for place in places], form)

    def lacking(self, total: Room) -> str:
        """What to do where the disk has no room for so much; else empty."""
        needed = total.disk - self._file.size
        if needed <= 0 or needed <= (free := self._file.free()):
            return ""
        return f", which has {free / GIB:.1f} GiB free: too little; {REMEDY}"

    def _refuse_full_disk(self, more: int, progress: Progress) -> None:
        """RunError before hours of work, not after them; more: bytes that are to come, about."""
        total = room(self._held_bytes + self._file.size + more, self.memory)
        if not total.disk:
            return
        size = f"image features: {told(total, self.folder)}"
        if fault := self.lacking(total):
            raise RunError(size + fault)
        progress.say(f"{size}, until this process ends")


def room(total: int, memory: float) -> Room:
    """Of `total` bytes of features, what lies where at a bound of `memory` GiB."""
    held = int(min(total, memory * GIB))
    return Room(held, total - held)


def told(size: Room, folder: Path) -> str:
    """In words."""
    held = f"{size.memory / GIB:.1f} GiB in memory"
    return f"{held}, {size.disk / GIB:.1f} GiB in a file without a name in {folder}" if size.disk else held


def place() -> Path:
    """The folder of the file."""
    return cache() / "features"


def _size(feature: Any) -> int:
    return sum(leaf.nbytes for leaf in tree.tree_leaves(feature))


def _batches(images: Sequence[ImageSource]) -> Iterable[Sequence[ImageSource]]:
    return (images[start : start + BATCH] for start in range(0, len(images), BATCH))
