"""Peak memory of loading, dealing and encoding COCO's 82,783 training images, on annotation files of COCO's form and size.

    python benchmarks/coco_memory.py [--images 82783]

Written to a temporary folder: captions_train2014.json (five captions an image), instances_train2014.json (seven outlined
objects an image, as many letters of outlines as the published file has) and a small picture file per image, no two alike.
Each step is told by what the process held most so far and what it holds after the step. Encoding is that of every
client's members with 196 image tokens, as the paper's model has, and the shipped model's tokenizer.

Of 82,783 images with 401 MB of annotations: 528 MB before; 695 MB with 75,000 examples loaded (2.3 kB each) and 1,208 MB at
most, while the text of the outlines is read; dealing to 12 clients and encoding 34,951 members hold no more than 696 MB, in
room that reading had freed. 22 CPU-s. The peak is over before a model is loaded.
"""

import argparse
import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from memory import peak, resident

OBJECTS, CAPTIONS, CLASSES, IMAGE_TOKENS = 7, 5, 80, 196
OUTLINE = ", ".join(f"{100 + number}.{number % 90 + 10}" for number in range(55))
IMAGE = (
    '{{"license": 1, "file_name": "COCO_train2014_{0:012}.jpg", "coco_url": "{1}{0}", "height": 480, "width": 640, '
    '"date_captured": "2013-11-14 16:28:13", "flickr_url": "{1}{0}", "id": {0}}}'
)
CAPTION = '{{"image_id": {0}, "id": {1}, "caption": "A {2} that stands near a {3} on a quiet street {4}"}}'
OBJECT = (
    '{{"segmentation": [[{2}]], "area": {3}.5, "iscrowd": 0, "image_id": {0}, "bbox": [1.0, 2.0, 3.0, 4.0], '
    '"category_id": {4}, "id": {1}}}'
)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as place:
        folder, begun = Path(place), time.process_time()
        write(folder, options.images)
        files = sum(path.stat().st_size for path in (folder / "annotations").iterdir()) / 2**20
        print(
            f"{options.images} images, {files:.0f} MB of annotations, written in {time.process_time() - begun:.0f} CPU-s"
        )
        measure(folder)


def measure(folder: Path) -> None:
    from fedrand.models import load_model
    from fedrand.models.encoding import Encoder, OneLength
    from fedrand.progress import Progress
    from fedrand.settings import DataTable

    vlm = load_model("tiny")
    layout = OneLength(vlm.path.layout.image_text, vlm.image_token, IMAGE_TOKENS)
    encoder = Encoder(vlm.tokenizer, layout, vlm.ends[0], 2048)
    told = Told()
    told("before: Python, torch, the tiny model")
    from fedrand.datasets import load_dataset
    from fedrand.dealing import deal

    table = DataTable(name="coco", path=str(folder), sizes=(70_000, 5_000, 5_000))
    dataset = load_dataset(table, 0, Progress())
    told(f"loaded: {len(dataset.shown)} examples")
    clients = deal(dataset.pool, table, 0)
    told(f"dealt to {len(clients)} clients")
    encoded = [[encoder.encode(example) for example in data.members] for data in clients.values()]
    told(f"encoded: {sum(map(len, encoded))} members")


class Told:
    """Prints a step with its memory and processor time."""

    def __init__(self) -> None:
        self.begun = time.process_time()

    def __call__(self, step: str) -> None:
        seconds, self.begun = time.process_time() - self.begun, time.process_time()
        print(
            f"{step:40} holds {resident():7.0f} MB, at most so far {peak():7.0f} MB, {seconds:6.1f} CPU-s", flush=True
        )


def write(folder: Path, images: int) -> None:
    """A COCO of so many images."""
    for name in ("annotations", "train2014"):
        (folder / name).mkdir()
    numbers = range(9, 9 + images)
    _json(
        folder / "annotations" / "captions_train2014.json",
        images=(IMAGE.format(n, "x" * 50) for n in numbers),
        annotations=(
            CAPTION.format(n, n * CAPTIONS + i, f"w{n % 997}", f"v{n % 89}", i) for n in numbers for i in range(5)
        ),
    )
    _json(
        folder / "annotations" / "instances_train2014.json",
        images=(IMAGE.format(n, "x" * 50) for n in numbers),
        categories=(f'{{"supercategory": "thing", "id": {c}, "name": "class {c}"}}' for c in range(1, CLASSES + 1)),
        annotations=(
            OBJECT.format(n, n * OBJECTS + i, OUTLINE, n % 9999, (n * 31 + i * 17) % CLASSES + 1)
            for n in numbers
            for i in range(OBJECTS)
        ),
    )
    picture = _picture()
    for n in numbers:
        path = folder / "train2014" / f"COCO_train2014_{n:012}.jpg"
        path.write_bytes(picture + n.to_bytes(8, "little"))  # after the end of the picture: no reader minds


def _json(path: Path, **lists: Iterator[str]) -> None:
    with path.open("w") as file:
        file.write('{"info": {"year": 2014}')
        for name, rows in lists.items():
            file.write(f', "{name}": [' + next(rows))
            for row in rows:
                file.write(", " + row)
            file.write("]")
        file.write("}")


def _picture() -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (16, 16), (90, 120, 150)).save(buffer, "JPEG")
    return buffer.getvalue()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=82_783)
    return parser.parse_args()


if __name__ == "__main__":
    main()
