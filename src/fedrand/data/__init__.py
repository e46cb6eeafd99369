"""Examples, prompts, datasets, and how they are dealt out to clients. NumPy and Pillow only."""

from fedrand.data.emoji import EmojiItem, EmojiPack, emoji_qa, load_emoji
from fedrand.data.example import DataError, Example, ImageSource
from fedrand.data.folder import load_folder
from fedrand.data.holdout import HoldOut, hold_out
from fedrand.data.partition import Partition, by_client, by_label, dirichlet, iid
from fedrand.data.prompts import TEMPLATES, render

__all__ = [
    "TEMPLATES",
    "DataError",
    "EmojiItem",
    "EmojiPack",
    "Example",
    "HoldOut",
    "ImageSource",
    "Partition",
    "by_client",
    "by_label",
    "dirichlet",
    "emoji_qa",
    "hold_out",
    "iid",
    "load_emoji",
    "load_folder",
    "render",
]
