"""Load a model by name: the one that ships with fedrand, a folder, or a hub id."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
)
from transformers.utils import logging as transformers_logging

from fedrand.models.errors import ModelError
from fedrand.models.probe import choose_path
from fedrand.models.processor import load_processor
from fedrand.models.runtime import torch
from fedrand.models.smollm2 import smollm2
from fedrand.models.tinyllava import register
from fedrand.models.vlm import VisionLanguageModel
from fedrand.progress import Progress

SHIPPED = {"tiny": Path(__file__).parents[1] / "assets" / "tiny-vlm"}
MADE = {"smollm2": smollm2}  # put together on this machine when they are first asked for
NAMES = (*SHIPPED, *MADE)
SILENT = Progress()
DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "bfloat16", "float16")}
# What transformers raises for a folder that is not whole; TypeError and AttributeError for JSON of another shape.
BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError, ImportError)
register()


def load_model(
    name: str, *, revision: str = "", dtype: str = "float32", device: str = "cpu", progress: Progress = SILENT
) -> VisionLanguageModel:
    """A frozen model that was checked against its own forward pass. ModelError: one line, with what to do.

    Image-text-to-text models and, for examples without images, causal language models.
    name: "tiny", "smollm2", a folder, or a hub id (from the hub's cache alone where HF_HUB_OFFLINE=1); revision: of a hub id.
    """
    options = options_of(revision)
    if dtype not in DTYPES:
        raise ModelError(f"unknown dtype '{dtype}'; choose from {', '.join(DTYPES)}")
    where, place = _device(device), place_of(name, progress)
    online = f"check the name, or fetch it once online: hf download {name}"
    with quiet(), explained(name, BROKEN, "check the folder's files" if Path(place).is_dir() else online):
        kind, _, processor = parts(place, options)
        more = {"output_loading_info": True, "ignore_mismatched_sizes": True} | options  # refused by name below
        model, info = kind.from_pretrained(place, dtype=DTYPES[dtype], **more)
    _refuse_unsound(model, info, name, dtype)
    if kind is AutoModelForImageTextToText and not hasattr(processor, "image_processor"):
        raise ModelError(f"model '{name}' has no image processor; get its preprocessor_config.json")
    with quiet():
        return choose_path(model.to(where), processor, name)


def _refuse_unsound(model: Any, info: dict[str, Any], name: str, dtype: str) -> None:
    """ModelError unless every weight was in the folder, with its shape, and is a number."""
    if missing := sorted(info["missing_keys"]):
        raise ModelError(f"model '{name}' lacks {len(missing)} weights, first {missing[0]}; get a complete copy")
    for key, found, wanted in sorted(info["mismatched_keys"]):
        shapes = f"{tuple(found)}, its configuration says {tuple(wanted)}"
        raise ModelError(f"model '{name}' has the weight {key} of shape {shapes}; get files that belong together")
    for key, value in model.named_parameters():
        if not torch.isfinite(value).all():
            raise ModelError(
                f"model '{name}' has NaN or Inf in its weight {key} (as {dtype}); get a sound copy, or choose another model.dtype"
            )


def parts(place: str, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The Auto class that a model belongs to, its configuration, and its processor or tokenizer. What transformers
    raises when it cannot be had."""
    config = AutoConfig.from_pretrained(place, **options)
    if type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return AutoModelForImageTextToText, config, load_processor(place, config, options)
    return AutoModelForCausalLM, config, AutoTokenizer.from_pretrained(place, **options)


def options_of(revision: str) -> dict[str, Any]:
    """What every call of `from_pretrained` is given: code that a model brings along is never run."""
    return {"trust_remote_code": False} | ({"revision": revision} if revision else {})


def place_of(name: str, progress: Progress = SILENT) -> str:
    """A folder, or a hub id. ModelError when the name can be neither, or its model cannot be put together."""
    if name in MADE:
        with quiet(), explained(name, (OSError,), "XDG_CACHE_HOME names a folder where it can be kept"):
            return str(MADE[name](SHIPPED["tiny"], progress))
    folder = SHIPPED.get(name, Path(name).expanduser())
    if folder.is_dir():
        return str(folder)
    if name in SHIPPED:
        raise ModelError(f"the model '{name}' that ships with fedrand is not at {folder}; reinstall fedrand")
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise ModelError(
            f"no model '{name}': no such folder; give {', '.join(NAMES)}, a folder, or a hub id OWNER/NAME"
        )
    return name


def _device(name: str) -> torch.device:
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"device '{name}' is not there ({_line(error)}); use device = \"cpu\"") from error


@contextlib.contextmanager
def explained(name: str, errors: tuple[type[Exception], ...], advice: str) -> Iterator[None]:
    """Turns these errors into a ModelError of one line with the advice."""
    try:
        yield
    except ModelError:
        raise
    except errors as error:
        raise ModelError(f"cannot load model '{name}' ({_line(error)}); {advice}") from error


def _line(error: BaseException) -> str:
    text = str(error).strip()
    if not text or isinstance(error, (KeyError, TypeError, AttributeError)):
        text = f"{type(error).__name__} {text}".strip()
    return text.splitlines()[0][:160].rstrip(" .:")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """transformers without its progress bars and warnings, which are for people who call it themselves."""
    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
