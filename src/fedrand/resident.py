"""What the runs of one process share: the frozen model, its image features, and what the untrained model is good for.

All of it is the same to the bit whichever run made it, so a run after others has the bits of a run alone.
"""

from collections.abc import Callable, Hashable
from typing import Any

from fedrand.lora import Adapter
from fedrand.models import ImageFeatures, VisionLanguageModel, load_model
from fedrand.progress import Progress
from fedrand.recipe import Recipe
from fedrand.settings import MemoryTable, ModelTable


class Resident:
    """One model at a time: a recipe of another one takes its place. A world made earlier must not be used any more."""

    def __init__(self) -> None:
        self._tables: tuple[ModelTable, MemoryTable] | None = None
        self._features: ImageFeatures | None = None
        self._adapter: Adapter | None = None
        self._figures: dict[Hashable, Any] = {}

    def model(self, recipe: Recipe, progress: Progress) -> tuple[VisionLanguageModel, ImageFeatures]:
        """The recipe's model, without an adapter, and the features of the images that it has seen."""
        if self._adapter:
            self._adapter.detach()
            self._adapter = None
        tables = table, memory = recipe.model, recipe.memory
        if self._features is None or tables != self._tables:
            self._features = None  # the old model goes before the new one comes
            vlm = load_model(
                table.name, revision=table.revision, dtype=table.dtype, device=table.device, progress=progress
            )
            self._tables, self._features = tables, ImageFeatures(vlm, memory.image_features)
        return self._features.vlm, self._features

    def attached(self, recipe: Recipe, vlm: VisionLanguageModel) -> Adapter:
        """The recipe's adapter on the model."""
        table = recipe.adapter
        self._adapter = Adapter.attach(vlm, rank=table.rank, scale=table.scale, kind=table.kind)
        return self._adapter

    def known(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made for this key before, or is made now."""
        if key not in self._figures:
            self._figures[key] = make()
        return self._figures[key]
