"""Clients' private adapters on disk: the only files of a run, the transcript's oracle apart, that hold a private half."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fedrand.messages import ClientState
from fedrand.runfile import LOST, RunFolderError
from fedrand.tensorfile import TensorFileError, read_tensors, write_tensors


@dataclass(frozen=True)
class DiskShelf:
    """clients/NAME/state-rNNNN.safetensors, one per round that the client took part in; the last two are kept, so
    that a round can be repeated after a kill. Folders have mode 0700, files 0600."""

    folder: Path

    def load(self, client: str, round: int) -> ClientState:
        """The client's state after its last round before `round`, empty if there was none; RunFolderError when its file
        is not whole."""
        earlier = [(number, path) for number, path in self._files(client) if number < round]
        if not earlier:
            return ClientState()
        _, path = max(earlier)
        try:
            params, header = read_tensors(path)
        except TensorFileError as error:
            raise RunFolderError(f"client {client}'s state {path} is not whole; {LOST}") from error
        return ClientState(params, tuple(int(number) for number in header["rounds"].split(",")))

    def save(self, client: str, state: ClientState) -> None:
        now = state.rounds[-1]
        folder = self.folder / client
        for place in (self.folder, folder):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        header = {"client": client, "rounds": ",".join(map(str, state.rounds))}
        write_tensors(folder / f"state-r{now:04d}.safetensors", state.local, header, private=True)
        earlier = sorted((number, path) for number, path in self._files(client) if number < now)
        for _, path in earlier[:-1]:
            path.unlink()

    def clients(self) -> tuple[str, ...]:
        """Names of the clients that have a state."""
        if not self.folder.is_dir():
            return ()
        return tuple(sorted(place.name for place in self.folder.iterdir() if any(self._files(place.name))))

    def _files(self, client: str) -> Iterator[tuple[int, Path]]:
        for path in (self.folder / client).glob("state-r*.safetensors"):
            yield int(path.stem.removeprefix("state-r")), path
