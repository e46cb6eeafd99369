"""The processor of a model; where torchvision is missing, without the video half that alone needs it."""

from typing import Any

from transformers import PROCESSOR_MAPPING, AutoProcessor
from transformers.utils import is_torchvision_available


def load_processor(place: str, config: Any, options: dict[str, Any]) -> Any:
    """For images and text. What transformers raises when it cannot be had."""
    try:
        return AutoProcessor.from_pretrained(place, **options)
    except (OSError, ImportError, AttributeError):
        known = PROCESSOR_MAPPING.get(type(config), None)
        if known is None or is_torchvision_available() or "video_processor" not in known.get_attributes():
            raise
        return without_video(known).from_pretrained(place, **options)


def without_video(known: Any) -> Any:
    """A processor class as it is, except that it neither wants nor loads a video processor."""

    class ImagesAndText(known):
        @classmethod
        def get_attributes(cls) -> list[str]:
            return [part for part in known.get_attributes() if part != "video_processor"]

        @classmethod
        def _get_arguments_from_pretrained(cls, *args: Any, **options: Any) -> list[Any]:
            return [*super()._get_arguments_from_pretrained(*args, **options), None]

    ImagesAndText.__name__ = known.__name__  # written into what is saved
    return ImagesAndText
