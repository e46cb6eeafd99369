"""Frozen image features of the tower, computed once, for the drawings as they are and for seeded alterations of them."""

import random

import torch
from PIL import Image, ImageEnhance
from torch import Tensor
from transformers import EfficientNetModel, LlavaProcessor

BATCH = 32
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


@torch.no_grad()
def extract(tower: EfficientNetModel, processor: LlavaProcessor, images: list[Image.Image]) -> Tensor:
    """Feature maps of RGB images as tokens in fp16, (images, 9, 1280); the tower must be in eval mode."""
    if tower.training:
        raise ValueError("the tower is in training mode: its BatchNorm statistics would be overwritten")
    parts = []
    for start in range(0, len(images), BATCH):
        pixels = processor.image_processor(images[start : start + BATCH], return_tensors="pt")["pixel_values"]
        parts.append(tower(pixels).last_hidden_state.flatten(2).transpose(1, 2).half())
    return torch.cat(parts)


def views(
    tower: EfficientNetModel, processor: LlavaProcessor, images: list[Image.Image], count: int, seed: int
) -> Tensor:
    """`count` views of each image, the first unaltered: (images, count, 9, 1280) in fp16."""
    rng = random.Random(seed)
    rounds = [images, *([altered(image, rng) for image in images] for _ in range(count - 1))]
    return torch.stack([extract(tower, processor, pictures) for pictures in rounds], dim=1)
