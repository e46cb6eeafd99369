"""COCO captions (Chen et al., 2015) as published: captions_*.json and instances_*.json beside the images."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fedrand.data.annotations import Row, captions_by_image, first_of, image_in, read_json, rows
from fedrand.data.example import DataError, Example
from fedrand.data.twins import grouped

NONE = "none"  # the class of an image in which nothing is outlined
_CAPTIONS = ("images", "annotations", "id", "file_name", "image_id", "caption")
_INSTANCES = ("annotations", "categories", "id", "name", "image_id", "category_id", "area")


def _largest_area(objects: Sequence[Row]) -> int:
    return max(objects, key=lambda row: (row["area"], -row["category_id"]))["category_id"]


def _most_frequent(objects: Sequence[Row]) -> int:
    counts = Counter(row["category_id"] for row in objects)
    return max(counts, key=lambda category: (counts[category], -category))


# One class for an image of many objects; ties go to the lower category id. `lowest` is FedML's rule.
LABEL_RULES: Mapping[str, Callable[[Sequence[Row]], int]] = {
    "lowest": lambda objects: min(row["category_id"] for row in objects),
    "largest-area": _largest_area,
    "most-frequent": _most_frequent,
}


def load_coco(path: Path | str, source: str = "train2014", label_rule: str = "lowest") -> list[Example]:
    """Every image of `source` (train2014, val2014, train2017, val2017) with its captions; opens no image.

    The files lie in `path` or `path`/annotations, the images in `path`/`source` or `path`/images/`source`. label:
    the name of one category by `label_rule`, `none` without any. Copies of a picture share a group. DataError
    names the place and the remedy: a missing file, image or column, cut JSON, an unknown label rule.
    """
    if label_rule not in LABEL_RULES:
        raise DataError(f"unknown label rule '{label_rule}'; choose from {', '.join(LABEL_RULES)}")
    folder = Path(path)
    labels = _labels(_annotations(folder, f"instances_{source}.json"), LABEL_RULES[label_rule])
    file = _annotations(folder, f"captions_{source}.json")
    pictures = first_of([folder / source, folder / "images" / source], Path.is_dir, f"folder of images {source}")
    tree = read_json(file, _CAPTIONS)
    captions = captions_by_image(rows(tree, "annotations", ("image_id", "caption"), file))
    images = rows(tree, "images", ("id", "file_name"), file)
    if silent := [row["id"] for row in images if row["id"] not in captions]:
        raise DataError(f"{file} has no caption of image {silent[0]}; get the original file")
    return grouped(
        [
            Example(
                id=f"{source}/{row['id']}",
                image=image_in(pictures, row["file_name"]),
                prompt="coco",
                answer=captions[row["id"]][0],
                references=captions[row["id"]],
                label=labels.get(row["id"], NONE),
            )
            for row in images
        ]
    )


def _annotations(folder: Path, name: str) -> Path:
    return first_of([folder / "annotations" / name, folder / name], Path.is_file, "annotation file")


def _labels(file: Path, rule: Callable[[Sequence[Row]], int]) -> dict[int, str]:
    """image id -> the name of its class, for images with at least one object."""
    tree = read_json(file, _INSTANCES)
    names = {row["id"]: row["name"] for row in rows(tree, "categories", ("id", "name"), file)}
    objects: dict[int, list[Row]] = defaultdict(list)
    for row in rows(tree, "annotations", ("image_id", "category_id", "area"), file):
        objects[row["image_id"]].append(row)
    try:
        return {image: names[rule(found)] for image, found in objects.items()}
    except KeyError as error:
        raise DataError(f"{file} has objects of category {error}, which it does not name; get the original") from error
