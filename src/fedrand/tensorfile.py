"""Tensors as safetensors bytes with a text header, and files that are whole or not there."""

import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fedrand.params import Key, Params

PART = ".part"  # how the name of what is not whole yet ends
CHECKSUM = "sha256"  # header entry: digest of the other entries and of every tensor


class TensorFileError(ValueError):
    """Bytes that are not a whole safetensors file, or not the ones that were written."""


def to_bytes(params: Params, header: Mapping[str, object]) -> bytes:
    """Serialise tensors (any float dtype, any shape) named LAYER.FACTOR with a header of short texts."""
    tensors = {str(key): np.asarray(params[key], order="C") for key in sorted(params)}
    texts = {name: str(value) for name, value in header.items()}
    return _ordered(save(tensors, metadata={**texts, CHECKSUM: _digest(tensors, texts)}))


def from_bytes(data: bytes, source: str = "message") -> tuple[dict[Key, NDArray[np.floating]], dict[str, str]]:
    """Inverse of `to_bytes`: (tensors, header). TensorFileError names `source` when the bytes are cut or altered."""
    try:
        tensors = load(data)
        header = _head(data)[0].get("__metadata__", {})
        params = {Key.parse(name): value for name, value in tensors.items()}
    except (SafetensorError, ValueError, KeyError) as error:
        raise TensorFileError(f"{source} is not a whole tensor file ({error}); delete it or restore it") from error
    if header.pop(CHECKSUM, None) != _digest(tensors, header):
        raise TensorFileError(f"{source} was altered: its checksum does not fit; delete it or restore it")
    return params, header


def _head(data: bytes) -> tuple[dict[str, dict[str, str]], int]:
    """A safetensors file's own JSON, and where its tensors begin: 8 bytes of length, JSON, tensors."""
    begin = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:begin]), begin


def _ordered(data: bytes) -> bytes:
    """The same file with its header sorted: safetensors writes its entries in another order at every call."""
    head, begin = _head(data)
    head["__metadata__"] = dict(sorted(head["__metadata__"].items()))
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors stay aligned to 8 bytes, as the format asks
    return len(text).to_bytes(8, "little") + text + data[begin:]


def _digest(tensors: Mapping[str, NDArray[np.floating]], header: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"{name} {value.dtype} {value.shape} ".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def write_atomic(path: Path, data: bytes | str, *, private: bool = False) -> None:
    """Write to a temporary name beside `path`, fsync, rename: a reader sees the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    with named(path):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data.encode() if isinstance(data, str) else data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync(path.parent)


@contextmanager
def whole_folder(folder: Path) -> Generator[Path]:
    """A new folder beside `folder` to write in, which takes its name when all is written; readable by all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with named(folder):
        place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=PART, dir=folder.parent))
        try:
            yield place
            for path in (*place.rglob("*"), place):
                path.chmod(0o755 if path.is_dir() else 0o644)  # transformers may write weights with mode 0600
                _sync(path)
            if folder.exists():
                shutil.rmtree(folder)
            place.rename(folder)
        finally:
            shutil.rmtree(place, ignore_errors=True)
        _sync(folder.parent)


@contextmanager
def named(path: Path) -> Generator[None]:
    """What cannot be written to `path` is an OSError with that name: a failed write has none, safetensors tells it in a
    class of its own."""
    try:
        yield
    except OSError as error:
        if error.errno and (error.filename is None or PART in str(error.filename)):
            error.filename = str(path)
        raise
    except SafetensorError as error:
        if (found := re.search(r"os error (\d+)", str(error))) is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1])), str(path)) from error


def remove_parts(folder: Path) -> None:
    """Delete what a killed process left half written anywhere in `folder`."""
    for part in folder.rglob(f".*{PART}"):
        shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Make a file's content, or a rename in a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_tensors(path: Path) -> tuple[dict[Key, NDArray[np.floating]], dict[str, str]]:
    """(tensors, header) of a file that `write_tensors` made."""
    return from_bytes(path.read_bytes(), str(path))


def write_tensors(path: Path, params: Params, header: Mapping[str, object], *, private: bool = False) -> None:
    """Write tensors and header as one atomic safetensors file, mode 0600 when private."""
    write_atomic(path, to_bytes(params, header), private=private)
