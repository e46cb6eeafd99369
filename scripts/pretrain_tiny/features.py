"""Frozen image features of the tower, computed once, for the drawings as they are and for seeded alterations of them."""

import random

import torch
from PIL import Image, ImageEnhance
from torch import Tensor
from transformers import EfficientNetModel, LlavaProcessor

from fedrand.models.assembly import tower_features

WHITE = (255, 255, 255)


def altered(image: Image.Image, rng: random.Random) -> Image.Image:
    """A drawing mirrored half of the time, turned by up to 15 degrees, moved, scaled by .75-1.25, its colours shifted."""
    if rng.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    image = image.rotate(rng.uniform(-15, 15), Image.Resampling.BILINEAR, fillcolor=WHITE)
    zoom = rng.uniform(0.75, 1.25)
    across, down = (side / zoom for side in image.size)
    left = (image.width - across) / 2 + rng.uniform(-0.08, 0.08) * image.width
    top = (image.height - down) / 2 + rng.uniform(-0.08, 0.08) * image.height
    box = (left, top, left + across, top + down)
    image = image.transform(image.size, Image.Transform.EXTENT, box, Image.Resampling.BILINEAR, fillcolor=WHITE)
    for enhance in (ImageEnhance.Color, ImageEnhance.Brightness, ImageEnhance.Contrast):
        image = enhance(image).enhance(rng.uniform(0.8, 1.2))
    return image


def views(
    tower: EfficientNetModel, processor: LlavaProcessor, images: list[Image.Image], count: int, seed: int
) -> Tensor:
    """`count` views of each image, the first unaltered: (images, count, 9, 1280) in fp16."""
    rng = random.Random(seed)
    rounds = [images, *([altered(image, rng) for image in images] for _ in range(count - 1))]
    return torch.stack([tower_features(tower, processor, pictures) for pictures in rounds], dim=1)
