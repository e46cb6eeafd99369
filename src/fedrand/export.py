"""A run's adapter for others: in PEFT's form, or merged into its base model."""

from pathlib import Path

from fedrand.adapter_file import save_merged, save_peft
from fedrand.errors import InputError, suggested
from fedrand.messages import ServerState
from fedrand.models import load_model
from fedrand.runfolder import RunFolder, RunFolderError


def save_adapter(out: Path, folder: RunFolder, server: ServerState, trained: bool = True) -> None:
    """PEFT's adapter_config.json and adapter_model.safetensors in the folder `out`; an adapter that is the base model,
    every B zero, only where `trained` is false."""
    model, adapter = folder.recipe.model, folder.recipe.adapter
    save_peft(out, server.params, adapter.rank, adapter.scale, model.name, kind=adapter.kind, trained=trained)


def untrained(server: ServerState) -> bool:
    """Whether no B was ever averaged: then the server's adapter is the base model."""
    return not any(value.any() for key, value in server.params.items() if key.factor == "B")


def export_adapter(run: Path, out: Path) -> None:
    """The server's adapter after the run's last whole round."""
    folder = _trained(run, out)
    save_adapter(out, folder, folder.server())


def merge(run: Path, out: Path) -> None:
    """The base model with the run's adapter in its weights: a folder that plain transformers loads. RunFolderError when
    the model of that name is another one by now."""
    folder = _trained(run, out)
    model = folder.recipe.model
    vlm = load_model(model.name, revision=model.revision, dtype=model.dtype)
    folder.check_model(vlm.fingerprint())
    adapter = folder.recipe.adapter
    save_merged(out, vlm, folder.server().params, adapter.scale, adapter.kind)


def _trained(run: Path, out: Path) -> RunFolder:
    folder = RunFolder.open(run)
    if not folder.begun or (server := folder.server()).round == 0:
        raise RunFolderError(f"{run} has trained no round yet; go on with: {suggested('resume', run)}")
    folder.check_recipe(free="audit")
    if untrained(server):
        raise RunFolderError(
            f"{run}: no B was averaged in any of {server.round} rounds, so the server's model is the base model "
            f"{folder.recipe.model.name}; use that one, or a run of another strategy"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already; name another folder")
    return folder
