"""The model card that is shipped beside the weights."""

from dataclasses import asdict
from pathlib import Path
from string import Template

from learner import Settings
from lessons import Mixture

from fedrand.data import EmojiPack

TEXT = Path(__file__).with_name("card.md")


def card(
    pack: EmojiPack, settings: Settings, mixture: Mixture, seed: int, views: int, loss: float, parameters: int
) -> str:
    """The card's text with this run's numbers; figures on the test split are added after check.py has printed them."""
    base = pack["base"]
    numbers = {
        "images": f"{len(base):,}",
        "groups": len({example.group for example in base}),
        "views": views,
        "seed": seed,
        "loss": f"{loss:.2f}",
        "parameters": f"{parameters:,}",
        "settings": ", ".join(f"{name} {value}" for name, value in (asdict(settings) | asdict(mixture)).items()),
    }
    return Template(TEXT.read_text(encoding="utf-8")).substitute(numbers)
