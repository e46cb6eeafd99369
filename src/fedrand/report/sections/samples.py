"""A few images of the public test split with what the server's model said before and after."""

import base64
import binascii

from fedrand.report.amounts import pick, plain
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, section

PNG = b"\x89PNG\r\n\x1a\n"
MOST = 12
CAPTIONS = {"reference": "reference", "before": "base model, before", "after": "server, after"}


def samples(results: Json) -> Markup | None:
    """None when the run wrote no samples."""
    given = results.get("samples")
    if not isinstance(given, list) or not given:
        return None
    note = (
        f"The first {min(len(given), MOST)} of the samples that the run kept, from the split test; greedy captions, "
        f"seed {plain(results.get('seed'))}."
    )
    figures = [_sample(sample) for sample in given[:MOST]]
    return section(
        "Samples", element("p", note, class_="note"), element("div", *figures, class_="samples"), name="samples"
    )


def _sample(sample: object) -> Markup:
    lines = [
        part
        for name, label in CAPTIONS.items()
        for part in (element("dt", label), element("dd", plain(pick(sample, name))))
    ]
    picture = _picture(pick(sample, "image_png_base64"), f"test image {plain(pick(sample, 'id'))}")
    return element("figure", *([picture] if picture else []), element("dl", *lines))


def _picture(data: object, alt: str) -> Markup | None:
    """The image, if the bytes are a PNG: nothing else gets into the page's one kind of address."""
    try:
        whole = base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not whole.startswith(PNG):
        return None
    return element("img", src=f"data:image/png;base64,{base64.b64encode(whole).decode()}", alt=alt)
