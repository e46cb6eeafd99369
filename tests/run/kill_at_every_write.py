"""Child of test_kill.py: run a federation that kills itself with SIGKILL before its N-th write, for many N; resume each.

usage: kill_at_every_write.py FOLDER STEP. Prints how many kills were survived to the very same files,
the ledger apart, which keeps what a round that was cut off had sent.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from numpy_world import RunFolder, contents, go_on, recipe

WATCHED = ("open", "fsync", "replace")


def kill_before(count: int) -> None:
    """Count calls that touch the disk; the process ends, without any clean-up, before call `count`."""
    left = [count]

    def watched(name: str):
        original = getattr(os, name)

        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **kwargs)

        return call

    for name in WATCHED:
        setattr(os, name, watched(name))


def whole_run(path: Path) -> None:
    go_on(RunFolder.open(path) if RunFolder(path).is_run else RunFolder.create(path, recipe()))


def killed(path: Path, count: int) -> bool:
    """Whether the run in a child process was killed before it was through."""
    child = os.fork()
    if child == 0:
        kill_before(count)
        whole_run(path)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


os.fsync = lambda descriptor: None  # a kill, unlike a power cut, loses nothing that was written


def main(folder: Path, step: int) -> None:
    whole_run(folder / "whole")
    expected, whole = contents(folder / "whole"), RunFolder.open(folder / "whole").ledger()
    survived, count, path = 0, 1, folder / "killed"
    while killed(path, count):
        killed(path, 7)  # once more, while it goes on
        whole_run(path)
        found, sent = contents(path), RunFolder.open(path).ledger()
        assert list(dict.fromkeys(sent)) == whole, (
            count
        )  # a cut-off round's messages travelled, and are there once more
        found["ledger.csv"] = expected["ledger.csv"]
        assert found.keys() == expected.keys(), (count, found.keys() ^ expected.keys())
        assert found == expected, (count, [name for name in found if found[name] != expected[name]])
        shutil.rmtree(path)
        survived, count = survived + 1, count + step
    print(survived)


main(Path(sys.argv[1]), int(sys.argv[2]))
