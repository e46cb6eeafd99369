"""An adapter for other programs: PEFT's two files, LoRA or LoHa, or merged into a folder that plain transformers loads.

PEFT's key names live here only.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from fedrand.errors import InputError
from fedrand.hadamard import without_shift
from fedrand.models.load import quiet
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.params import FACTORS, Key, Params, norm, select
from fedrand.tensorfile import whole_folder

CONFIG, TENSORS = "adapter_config.json", "adapter_model.safetensors"
PREFIX = "base_model.model."
SUFFIX = {
    "LORA": {"A": ".lora_A.weight", "B": ".lora_B.weight"},
    "LOHA": {"A": ".hada_w1_b", "B": ".hada_w1_a", "A2": ".hada_w2_b", "B2": ".hada_w2_a"},
}
ALPHA = {"LORA": "lora_alpha", "LOHA": "alpha"}  # either scales by alpha / r
# Forms that change what the factors mean; read as if they were plain they would give another model.
FOREIGN = ("use_rslora", "use_dora", "rank_pattern", "alpha_pattern", "fan_in_fan_out", "modules_to_save")


class AdapterFileError(InputError):
    """An adapter that cannot be written or read: where, what is wrong, what to do."""


@dataclass(frozen=True)
class PeftAdapter:
    """What a PEFT folder holds: W + scale * B A, or W + scale * (B A) * (B2 A2), on the model `base_model`."""

    params: Params
    rank: int
    scale: float
    base_model: str


def save_peft(
    folder: Path,
    params: Params,
    rank: int,
    scale: float,
    base_model_name_or_path: str,
    *,
    kind: str = "lora",
    trained: bool = True,
) -> None:
    """Write a folder that peft.PeftModel.from_pretrained loads; it is there whole or not at all.

    First pairs alone are LoRA whatever the kind; second pairs make it LoHa. AdapterFileError for an export without
    tensors, with half a pair, with a rank that is not `rank`, with NaN or Inf, or, unless `trained` is false, with every
    B zero, which is the base model.
    """
    _check(params, rank, trained)
    params, form = _plain(params, kind), "LOHA" if _second(params) else "LORA"
    rank += kind == "hadamard+1" and form == "LOHA"
    config = {
        "peft_type": form,
        "task_type": None,
        "base_model_name_or_path": base_model_name_or_path,
        "r": rank,
        ALPHA[form]: int(rank * scale) if float(rank * scale).is_integer() else rank * scale,
        "inference_mode": True,
        "target_modules": sorted({key.layer for key in params}),  # whole names: a suffix might match the vision tower
    }
    names = {key: f"{PREFIX}{key.layer}{SUFFIX[form][key.factor]}" for key in params}
    tensors = {names[key]: np.ascontiguousarray(value) for key, value in params.items()}
    with whole_folder(Path(folder)) as place:
        (place / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        save_file(tensors, place / TENSORS, metadata={"format": "pt"})


def load_peft(folder: Path) -> PeftAdapter:
    """Read a PEFT folder, LoRA or LoHa. AdapterFileError names missing, unexpected and unsupported parts."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        tensors = load_file(folder / TENSORS)
    except (OSError, ValueError, SafetensorError) as error:
        raise AdapterFileError(f"{folder} is no PEFT adapter ({error}); it needs {CONFIG} and {TENSORS}") from error
    foreign = [name for name in FOREIGN if config.get(name)]
    form = config.get("peft_type")
    if form not in SUFFIX or foreign:
        raise AdapterFileError(f"{folder} is not plain LoRA or LoHa ({', '.join(foreign) or form}); export it as such")
    params = {_key(folder, name, form): tensors[name] for name in sorted(tensors)}
    _check(params, config["r"], trained=False)
    return PeftAdapter(params, config["r"], config[ALPHA[form]] / config["r"], config["base_model_name_or_path"])


def save_merged(folder: Path, vlm: VisionLanguageModel, params: Params, scale: float, kind: str = "lora") -> None:
    """The model with the adapter in its weights, and its processor; AutoModelForImageTextToText loads it."""
    layers = sorted({key.layer for key in params})
    _check(params, len(params[Key(layers[0], "A")]) if layers else 0, trained=True)
    params = _plain(params, kind)
    weights = vlm.model.state_dict()
    if unknown := [layer for layer in layers if f"{layer}.weight" not in weights]:
        raise AdapterFileError(f"model '{vlm.name}' has no layer {unknown[0]}; merge into the adapter's own base model")
    merged = {f"{layer}.weight": _merged(weights[f"{layer}.weight"], params, layer, scale) for layer in layers}
    with whole_folder(Path(folder)) as place, quiet():
        vlm.model.save_pretrained(place, state_dict={**weights, **merged})
        vlm.processor.save_pretrained(place)


def _merged(weight: torch.Tensor, params: Params, layer: str, scale: float) -> torch.Tensor:
    def product(a: str, b: str) -> torch.Tensor:
        left, right = (torch.from_numpy(np.array(params[Key(layer, factor)])).double() for factor in (b, a))
        return left @ right

    change = product("A", "B") * product("A2", "B2") if _second(params) else product("A", "B")
    return (weight.double() + scale * change.to(weight.device)).to(weight.dtype)


def _second(params: Params) -> bool:
    """Whether any layer has more than its first pair."""
    return any(key.factor not in FACTORS["lora"] for key in params)


def _plain(params: Params, kind: str) -> Params:
    return without_shift(params) if kind == "hadamard+1" and _second(params) else params


def _key(folder: Path, name: str, form: str) -> Key:
    for factor, suffix in SUFFIX[form].items():
        if name.startswith(PREFIX) and name.endswith(suffix):
            return Key(name.removeprefix(PREFIX).removesuffix(suffix), factor)
    known = ", ".join(f"{PREFIX}LAYER{suffix}" for suffix in SUFFIX[form].values())
    raise AdapterFileError(f"{folder} has the unexpected tensor {name}; only {known} are read")


def _check(params: Params, rank: int, trained: bool) -> None:
    if not params:
        raise AdapterFileError("an adapter without tensors is the base model; nothing is written or read")
    factors = FACTORS["hadamard" if _second(params) else "lora"]
    pairs = {Key(key.layer, factor) for key in params for factor in factors}
    if missing := sorted(pairs - params.keys()):
        raise AdapterFileError(f"the adapter lacks {len(missing)} tensors, first {missing[0]}; get a complete one")
    for key, value in params.items():
        found = value.shape[0 if key.factor[0] == "A" else 1]
        if found != rank:
            raise AdapterFileError(f"tensor {key} has rank {found}, the adapter's is {rank}; give the rank of training")
    total = norm(params)
    if not math.isfinite(total):
        raise AdapterFileError("the adapter holds NaN or Inf; go back to an earlier round")
    if trained and norm(select(params, {key for key in params if key.factor == "B"})) == 0:
        raise AdapterFileError("every B of the adapter is zero, so it is the base model; train it before exporting it")
