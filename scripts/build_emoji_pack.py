"""Build the emoji pack that ships with fedrand: drawings of three vendors, captions, splits, licences.

    python scripts/build_emoji_pack.py                          # npm-installs the packages for the moment
    python scripts/build_emoji_pack.py --npm DIR/node_modules   # uses an installed copy

The same packages and the same Pillow give the same bytes.
"""

import argparse
import io
import json
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from emoji_pack.captions import captions
from emoji_pack.kinds import UNSEEN
from emoji_pack.notice import notice
from emoji_pack.sources import DRAWINGS, Entry, Pixels, draw, install, read_entries
from PIL import Image

OUT = Path(__file__).parents[1] / "src" / "fedrand" / "assets" / "emoji"
SEED = 0
# Groups per split; `ood` is what UNSEEN names, `base` is the rest.
SIZES = {"federated": 660, "test": 184, "validation": 60}
# Pre-training sees every vendor; Fluent's drawings of the other concepts are left out of the pack.
VENDORS = {
    "base": ("noto", "twemoji", "fluent"),
    "validation": ("noto", "twemoji"),
    "federated": ("noto", "twemoji"),
    "test": ("noto", "twemoji"),
    "ood": ("noto", "twemoji"),
}
WEBP = {"quality": 90, "method": 6}


def group(entries: Iterable[Entry], pixels: Pixels) -> dict[str, str]:
    """concept -> group; concepts drawn by a vendor with the same pixels (Norway, Bouvet Island) share one."""
    parent: dict[str, str] = {}
    seen: dict[tuple[str, bytes], str] = {}
    for entry in entries:
        parent.setdefault(entry.concept, entry.concept)
        for vendor in DRAWINGS:
            if (vendor, entry.code) in pixels:
                twin = seen.setdefault((vendor, pixels[vendor, entry.code].tobytes()), entry.concept)
                parent[_root(parent, entry.concept)] = _root(parent, twin)
    return {concept: _root(parent, concept).lower() for concept in parent}


def _root(parent: Mapping[str, str], node: str) -> str:
    while parent[node] != node:
        node = parent[node]
    return node


def assign(entries: Iterable[Entry], groups: Mapping[str, str]) -> dict[str, str]:
    """group -> split. A plain shuffle, so that base, federated, validation and test have one distribution."""
    unseen = {groups[e.concept] for e in entries if e.subcategory in UNSEEN}
    order = np.random.default_rng(SEED).permutation(sorted(set(groups.values()) - unseen)).tolist()
    splits = dict.fromkeys(unseen, "ood")
    for name, size in SIZES.items():
        splits.update(dict.fromkeys(order[:size], name))
        order = order[size:]
    return splits | dict.fromkeys(order, "base")


def lines(entries: Sequence[Entry], pixels: Pixels) -> list[dict[str, Any]]:
    """The lines of items.jsonl, in chart order."""
    groups, shared = group(entries, pixels), captions(entries)
    splits = assign(entries, groups)
    placed = [(entry, groups[entry.concept]) for entry in entries]
    return [_line(entry, group, splits[group], pixels) | shared[entry.concept] for entry, group in placed]


def _line(entry: Entry, group: str, split: str, pixels: Pixels) -> dict[str, Any]:
    vendors = [vendor for vendor in VENDORS[split] if (vendor, entry.code) in pixels]
    return {"id": entry.code.lower(), "group": group, "split": split, "vendors": vendors}


def write_images(path: Path, items: Iterable[dict[str, Any]], pixels: Pixels) -> None:
    """A stored zip of VENDOR/CODE.webp with fixed order, dates and modes."""
    names = sorted((vendor, item["id"]) for item in items for vendor in item["vendors"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for vendor, code in names:
            buffer = io.BytesIO()
            Image.fromarray(pixels[vendor, code.upper()]).save(buffer, "WEBP", **WEBP)
            info = zipfile.ZipInfo(f"{vendor}/{code}.webp", (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, buffer.getvalue())


def build(npm: Path, out: Path) -> None:
    """Write images.zip, items.jsonl and NOTICE.md under `out`, and print what each split holds."""
    entries = read_entries(npm)
    pixels = draw(npm, entries)
    items = lines(entries, pixels)
    out.mkdir(parents=True, exist_ok=True)
    write_images(out / "images.zip", items, pixels)
    text = "".join(json.dumps(item) + "\n" for item in items)
    (out / "items.jsonl").write_text(text, encoding="utf-8", newline="\n")
    (out / "NOTICE.md").write_text(notice(npm), encoding="utf-8", newline="\n")
    for split in VENDORS:
        rows = [item for item in items if item["split"] == split]
        images = sum(len(row["vendors"]) for row in rows)
        print(f"{split}: {len({row['group'] for row in rows})} groups, {len(rows)} emoji, {images} images")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npm", type=Path, help="a node_modules folder with the packages")
    parser.add_argument("--out", type=Path, default=OUT, help="where the pack goes (default: %(default)s)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        build(args.npm or install(Path(scratch)), args.out)


if __name__ == "__main__":
    main()
