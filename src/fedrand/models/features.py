"""Projected image features, computed once per image and kept in memory: tower and projector are frozen."""

from collections.abc import Iterable, Sequence
from typing import Any

from fedrand.data.example import ImageSource
from fedrand.models.vlm import VisionLanguageModel
from fedrand.progress import Progress

BATCH = 16  # images opened at a time


class ImageFeatures:
    """A store of what the model made of each image, in the model's dtype; [tokens, H] on the fast path."""

    def __init__(self, vlm: VisionLanguageModel) -> None:
        self.vlm = vlm
        self._known: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._known)

    def keep(self, images: Iterable[ImageSource | None]) -> None:
        """Forget the features of all other images."""
        wanted = {image.key for image in images if image is not None}
        self._known = {key: feature for key, feature in self._known.items() if key in wanted}

    def prepare(self, images: Iterable[ImageSource | None], progress: Progress | None = None) -> None:
        """Compute what is not there yet. DataError names an image that cannot be read."""
        missing = {image.key: image for image in images if image is not None and image.key not in self._known}
        steps = list(_batches(list(missing.values())))
        for batch in progress.track(steps, "image features") if progress else steps:
            for image, feature in zip(batch, self.vlm.path.see([image.load() for image in batch]), strict=True):
                self._known[image.key] = feature

    def __call__(self, images: Sequence[ImageSource]) -> list[Any]:
        """What the model made of each image."""
        self.prepare(images)
        return [self._known[image.key] for image in images]


def _batches(images: Sequence[ImageSource]) -> Iterable[Sequence[ImageSource]]:
    return (images[start : start + BATCH] for start in range(0, len(images), BATCH))
