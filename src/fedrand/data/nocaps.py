"""NoCaps (Agrawal et al., 2019), validation: ten captions an image, and how far each image is from COCO's classes."""

from pathlib import Path

from fedrand.data.annotations import captions_by_image, first_of, image_in, read_json, rows
from fedrand.data.example import DataError, Example
from fedrand.data.twins import grouped

FILE = "nocaps_val_4500_captions.json"
DOMAINS = ("in-domain", "near-domain", "out-domain")


def load_nocaps(path: Path | str, domain: str = "") -> list[Example]:
    """Every image of the file, or those of one domain; label = domain; opens no image.

    The file lies in `path` or `path`/annotations, the images in `path`/images, `path`/val or `path`. DataError names the
    place and the remedy; copies of the file without the column `domain` go round, and are refused.
    """
    if domain and domain not in DOMAINS:
        raise DataError(f"unknown domain '{domain}'; choose from {', '.join(DOMAINS)}")
    folder = Path(path)
    file = first_of([folder / "annotations" / FILE, folder / FILE], Path.is_file, "annotation file")
    pictures = first_of([folder / "images", folder / "val", folder], Path.is_dir, "folder of images")
    tree = read_json(file)
    captions = captions_by_image(rows(tree, "annotations", ("image_id", "caption"), file))
    images = rows(tree, "images", ("id", "file_name"), file)
    examples: list[Example] = []
    for row in images:
        if row.get("domain") not in DOMAINS:
            raise DataError(
                f"{file}, image {row['id']} has no column 'domain' of {', '.join(DOMAINS)}; take the original {FILE}"
            )
        if row["id"] not in captions:
            raise DataError(f"{file} has no caption of image {row['id']}; take the original {FILE}")
        said = captions[row["id"]]
        image = image_in(pictures, row["file_name"])
        examples.append(Example(f"nocaps/{row['id']}", image, "coco", said[0], said, label=row["domain"]))
    return grouped([example for example in examples if not domain or example.label == domain])
