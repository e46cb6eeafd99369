"""Tensors in a file without a name: nobody else can open it, and its space is free again when the process ends, however
it ends. What was read or written last stays in memory as long as the operating system has room: its page cache."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, NamedTuple

from fedrand.errors import RunError
from fedrand.models.runtime import torch

REMEDY = "free space there, name another folder with XDG_CACHE_HOME, or raise memory.image_features"


class Place(NamedTuple):
    """Where a tensor lies in the file, and what it is."""

    offset: int
    dtype: torch.dtype
    shape: tuple[int, ...]


class Spill:
    """Grows at its end and is never rewritten. RunError, one line, where the folder cannot be written or is full."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.size = folder, 0

    def free(self) -> int:
        """Bytes that the folder's disk has left."""
        with self._explained():
            self._file.fileno()
            return shutil.disk_usage(self.folder).free

    def put(self, tensor: torch.Tensor) -> Place:
        """Write a tensor, bit for bit."""
        place = Place(self.size, tensor.dtype, tuple(tensor.shape))
        data = _bytes(tensor.detach().cpu().contiguous())
        with self._explained():
            self._file.seek(self.size)
            while len(data):
                data = data[self._file.write(data) :]
        self.size = self._file.tell()
        return place

    def get(self, place: Place) -> torch.Tensor:
        """The tensor, on the CPU."""
        tensor = torch.empty(place.shape, dtype=place.dtype)
        data, at = _bytes(tensor), place.offset
        with self._explained():
            while len(data):
                read = os.preadv(self._file.fileno(), [data], at)
                if not read:
                    raise OSError("the file was cut")
                data, at = data[read:], at + read
        return tensor

    @cached_property
    def _file(self) -> IO[bytes]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115, it is open as long as the spill is
        weakref.finalize(self, file.close)
        return file

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise RunError(f"cannot keep image features in {self.folder} ({reason}); {REMEDY}") from error


def _bytes(tensor: torch.Tensor) -> memoryview:
    """A tensor's own memory."""
    return memoryview(tensor.reshape(-1).view(torch.uint8).numpy())
