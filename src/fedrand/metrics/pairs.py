"""The check every caption metric makes first: one hypothesis and at least one reference per image."""

from collections.abc import Sequence


def check_pairs(hypotheses: Sequence[object], references: Sequence[Sequence[object]]) -> None:
    """Raise ValueError unless there are images, each with one hypothesis and a list of references."""
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses but {len(references)} reference lists; give one of each per image"
        )
    if not hypotheses:
        raise ValueError("no images to score; give at least one hypothesis and its references")
    for image, refs in enumerate(references):
        if isinstance(refs, str):
            raise ValueError(f"references of image {image} are one string; give a list of strings per image")
        if not refs:
            raise ValueError(f"image {image} has no references; give at least one, or leave the image out")
