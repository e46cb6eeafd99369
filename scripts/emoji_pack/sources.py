"""The npm packages the pack is made from, and what is read from them: emoji, their words, drawings."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from emoji_pack.variants import concept

PACKAGES = (
    "emoji-datasource-google@16.0.0",
    "emoji-datasource-twitter@16.0.0",
    "@lobehub/fluent-emoji-3d@1.1.0",
    "cldr-annotations-full@48.2.0",
    "cldr-annotations-derived-full@48.2.0",
    "emojilib@4.0.3",
)
DRAWINGS = {
    "noto": "emoji-datasource-google/img/google/64/{}.png",
    "twemoji": "emoji-datasource-twitter/img/twitter/64/{}.png",
    "fluent": "@lobehub/fluent-emoji-3d/assets/{}.webp",
}
# Not Microsoft's: the package fills these gaps from elsewhere (its country flags are Noto's).
NOT_FLUENT = {"country-flag", "subdivision-flag"}
NOT_FLUENT_CONCEPTS = {"1F9D1-200D-1F4BB", "1F3AE"}  # technologist, video game
SIDE = 64  # pixels
TEXT_STYLE = "\ufe0f"  # asks for the colour drawing; the packages disagree on when to write it

Pixels = dict[tuple[str, str], NDArray[np.uint8]]  # (vendor, code) -> (64, 64, 3) RGB


@dataclass(frozen=True)
class Entry:
    """One emoji without skin tone, as the packages describe it."""

    code: str  # "1F600", as the drawings are named
    concept: str  # code of the emoji whose caption it shares
    category: str
    subcategory: str
    name: str  # CLDR
    cldr: tuple[str, ...]
    emojilib: tuple[str, ...]


def install(folder: Path) -> Path:
    """`npm install` the six packages under `folder`; returns its node_modules."""
    subprocess.run(["npm", "install", "--no-save", "--prefix", str(folder), *PACKAGES], check=True)
    return folder / "node_modules"


def read_entries(npm: Path) -> list[Entry]:
    """Every emoji but the components (skin tones), in the order of the Unicode chart."""
    cldr = _cldr(npm)
    lib = _json(npm / "emojilib/dist/emoji-en-US.json")
    lib = {char.replace(TEXT_STYLE, ""): keywords for char, keywords in lib.items()}
    rows = [r for r in _json(npm / "emoji-datasource-google/emoji.json") if r["category"] != "Component"]
    return [_entry(row, cldr, lib) for row in sorted(rows, key=lambda r: r["sort_order"])]


def _entry(row: Mapping[str, Any], cldr: Mapping[str, Any], lib: Mapping[str, list[str]]) -> Entry:
    char = "".join(chr(int(point, 16)) for point in row["unified"].split("-")).replace(TEXT_STYLE, "")
    return Entry(
        code=row["unified"],
        concept=concept(row["unified"]),
        category=row["category"].lower().replace("&", "and"),
        subcategory=row["subcategory"],
        name=cldr[char]["tts"][0],
        cldr=tuple(cldr[char].get("default", ())),
        emojilib=tuple(lib[char][1:]),  # the first is its name
    )


def _cldr(npm: Path) -> dict[str, Any]:
    plain = _json(npm / "cldr-annotations-full/annotations/en/annotations.json")
    derived = _json(npm / "cldr-annotations-derived-full/annotationsDerived/en/annotations.json")
    return {**derived["annotationsDerived"]["annotations"], **plain["annotations"]["annotations"]}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def draw(npm: Path, entries: Iterable[Entry]) -> Pixels:
    """Every drawing on white; one that a vendor lacks is absent."""
    wanted = [(v, e, npm / form.format(e.code.lower())) for e in entries for v, form in DRAWINGS.items()]
    return {(v, e.code): _pixels(path) for v, e, path in wanted if path.exists() and _is_own(v, e)}


def _is_own(vendor: str, entry: Entry) -> bool:
    foreign = entry.subcategory in NOT_FLUENT or entry.concept in NOT_FLUENT_CONCEPTS
    return vendor != "fluent" or not foreign


def _pixels(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as image:
        rgba = image.convert("RGBA")
    flat = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    return np.asarray(flat.resize((SIDE, SIDE), Image.Resampling.LANCZOS))
