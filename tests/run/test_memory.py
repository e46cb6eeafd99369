"""What a run holds in memory does not grow with its rounds: adapters and transcripts lie on the disk."""

import gc
import tracemalloc

from numpy_world import SHAPES, federation, recipe, start

from fedrand.audit.transcript import TranscriptWriter
from fedrand.progress import Event, Progress
from fedrand.recorded import federate

ROUNDS = 50


def test_after_fifty_rounds_as_much_is_held_as_after_ten(tmp_path, monkeypatch):
    for key in SHAPES:
        monkeypatch.setitem(SHAPES, key, (64, 64))  # what Python itself keeps is little beside one adapter
    folder = start(tmp_path / "run", recipe(f"train.rounds={ROUNDS}"))
    held = {}

    def measure(event: Event) -> None:
        if event.done in (10, ROUNDS):
            gc.collect()
            held[event.done] = tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        federate(folder, federation(folder.recipe), TranscriptWriter(folder.transcript), ROUNDS, Progress(measure))
    finally:
        tracemalloc.stop()
    one_client = sum(value.nbytes for value in folder.server().params.values())
    assert held[ROUNDS] - held[10] < one_client
