"""Small folders in the form of the published datasets, written file by file."""

import json
from pathlib import Path

from PIL import Image

CATEGORIES = [
    {"supercategory": "person", "id": 1, "name": "person"},
    {"supercategory": "animal", "id": 18, "name": "dog"},
    {"supercategory": "kitchen", "id": 90, "name": "toothbrush"},
]
DOMAINS = ("in-domain", "near-domain", "out-domain")


def draw(path: Path, shade: int) -> None:
    """One plain picture; another shade is another file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (16, 12), (shade % 256, shade // 256, 90)).save(path)


def dump(path: Path, tree: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree))
    return path


def outline(image: int, category: int, area: float = 10.0, number: int = 1) -> dict:
    """An object of instances_*.json."""
    shape = {"segmentation": [[1.0, 2.0, 3.0]], "iscrowd": 0, "bbox": [1.0, 2.0, 3.0, 4.0]}
    return {**shape, "id": number, "image_id": image, "category_id": category, "area": area}


def coco_folder(folder: Path, objects: list[dict], images: int = 4, source: str = "train2014") -> Path:
    """`images` pictures, ids from 9 on, five captions each with the stray newlines and spaces of the original."""
    prefix = "" if source.endswith("2017") else f"COCO_{source}_"
    entries, captions = [], []
    for image in range(9, 9 + images):
        name = f"{prefix}{image:012d}.jpg"
        draw(folder / source / name, 40 * image)
        entries.append({"license": 3, "file_name": name, "coco_url": "", "height": 12, "width": 16, "id": image})
        for number in range(5):
            text = f"A thing {image}  seen {number}.\n" if number else f" A thing {image}.\n"
            captions.append({"image_id": image, "id": 10 * image + number, "caption": text})
    whole = {"info": {"year": 2014}, "images": entries, "licenses": []}
    dump(folder / "annotations" / f"captions_{source}.json", {**whole, "annotations": captions})
    boxes = {**whole, "annotations": objects, "categories": CATEGORIES}
    dump(folder / "annotations" / f"instances_{source}.json", boxes)
    return folder


def nocaps_folder(folder: Path, images: int = 6, domain: bool = True) -> Path:
    """`images` pictures, domains in turn, ten captions each."""
    entries, captions = [], []
    for image in range(images):
        name = f"{image:016x}.jpg"
        draw(folder / "images" / name, 1000 + 40 * image)
        entry = {"license": 0, "file_name": name, "coco_url": "", "open_images_id": f"{image:016x}", "id": image}
        entries.append({**entry, "height": 12, "width": 16} | ({"domain": DOMAINS[image % 3]} if domain else {}))
        said = [f"Something odd {image}, again {number}." for number in range(10)]
        captions += [{"image_id": image, "id": 10 * image + n, "caption": text} for n, text in enumerate(said)]
    tree = {"licenses": [], "info": {}, "images": entries, "annotations": captions}
    dump(folder / "nocaps_val_4500_captions.json", tree)
    return folder


def problem(**other: object) -> dict:
    """A problem of problems.json."""
    plain = {"question": "Which is a mammal?", "choices": ["frog", "cat"], "answer": 1, "hint": "", "image": None}
    more = {"task": "closed choice", "grade": "grade2", "subject": "natural science", "category": "Animals"}
    return {**plain, **more, "topic": "biology", "skill": "", "lecture": "", "solution": "", "split": "train", **other}


def scienceqa_folder(folder: Path, problems: dict[str, dict], shades: dict[str, int] | None = None) -> Path:
    """The problems with their pictures; `shades` says which picture, another one for each by default."""
    splits: dict[str, list[str]] = {"train": [], "val": [], "test": [], "minival": []}
    for number, asked in problems.items():
        splits[asked["split"]].append(number)
        if asked["image"]:
            draw(folder / "images" / asked["split"] / number / "image.png", (shades or {}).get(number, int(number)))
    dump(folder / "problems.json", problems)
    dump(folder / "pid_splits.json", splits)
    return folder
