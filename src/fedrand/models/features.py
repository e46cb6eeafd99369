"""Projected image features, computed once per image and kept in memory: tower and projector are frozen."""

from collections.abc import Iterable, Sequence

from fedrand.data.example import ImageSource
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.progress import Progress

# Always this many at a time, the last batch filled up with blanks: a convolution's last bits depend on the size of the
# batch, and a client's features must be the same bits whoever else's images are on the machine.
BATCH = 16


class ImageFeatures:
    """A store of features [tokens, H] in the model's dtype, by image."""

    def __init__(self, vlm: VisionLanguageModel) -> None:
        self.vlm = vlm
        self._known: dict[str, torch.Tensor] = {}

    def __len__(self) -> int:
        return len(self._known)

    def prepare(self, images: Iterable[ImageSource | None], progress: Progress | None = None) -> None:
        """Compute what is not there yet. DataError names an image that cannot be read."""
        missing = {image.key: image for image in images if image is not None and image.key not in self._known}
        steps = list(_batches(list(missing.values())))
        for batch in progress.track(steps, "image features") if progress else steps:
            for image, feature in zip(batch, self._compute(batch), strict=True):
                self._known[image.key] = feature

    def __call__(self, images: Sequence[ImageSource]) -> list[torch.Tensor]:
        """Features [tokens, H] of each image."""
        self.prepare(images)
        return [self._known[image.key] for image in images]

    def _compute(self, images: Sequence[ImageSource]) -> list[torch.Tensor]:
        pixels = self.vlm.pixels([image.load() for image in images])
        blanks = pixels.new_zeros((BATCH - len(images), *pixels.shape[1:]))
        features = self.vlm.project(torch.cat([pixels, blanks]))
        return [feature.clone() for feature in features[: len(images)]]


def _batches(images: Sequence[ImageSource]) -> Iterable[Sequence[ImageSource]]:
    return (images[start : start + BATCH] for start in range(0, len(images), BATCH))
