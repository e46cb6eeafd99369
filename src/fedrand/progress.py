"""Progress of long work: one way to tell it, four ways to show it (bars, plain lines, JSON lines, nothing)."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import IO, Any, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Event:
    """A line of text (`total` is 0), or step `done` of `total` of the work called `label`."""

    label: str = ""
    done: int = 0
    total: int = 0
    text: str = ""


Sink = Callable[[Event], None]


@dataclass(frozen=True)
class Progress:
    """`Progress()` is silent; give it a sink to show something."""

    sink: Sink = lambda event: None

    def say(self, text: str) -> None:
        self.sink(Event(text=text))

    def step(self, label: str, done: int, total: int, text: str = "") -> None:
        self.sink(Event(label, done, total, text))

    def track(self, items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
        """The items, telling after each how many are done."""
        count = len(items) if total is None and isinstance(items, Sized) else total or 0
        for done, item in enumerate(items, 1):
            yield item
            self.step(label, done, max(count, done))

    def named(self, name: str) -> "Progress":
        """The same sink with `name` before every label and text."""
        return Progress(lambda event: self.sink(prefixed(event, name)))


def prefixed(event: Event, name: str) -> Event:
    """The event with `name` before its label, or before its text when it has no label."""
    if event.total:
        return Event(f"{name} {event.label}", event.done, event.total, event.text)
    return Event(text=f"{name}: {event.text}")


@dataclass
class PlainLines:
    """A line when a piece of work begins and ends, and at most one every `every` seconds between."""

    stream: IO[str]
    every: float = 10.0
    clock: Callable[[], float] = time.monotonic
    shown: dict[str, float] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        if not event.total:
            print(event.text, file=self.stream, flush=True)
            return
        now = self.clock()
        last = self.shown.get(event.label)
        if last is None or now - last >= self.every or event.done == event.total:
            self.shown[event.label] = now
            line = f"{event.label} {event.done}/{event.total} {event.text}".rstrip()
            print(line, file=self.stream, flush=True)


@dataclass(frozen=True)
class JsonLines:
    """Every event as one JSON object on a line."""

    stream: IO[str]

    def __call__(self, event: Event) -> None:
        shown = {key: value for key, value in asdict(event).items() if value}
        print(json.dumps({"event": "step" if event.total else "say", **shown}), file=self.stream, flush=True)


class Bars:
    """Rich bars on a terminal, one per label; a finished one leaves a line behind."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = RichProgress(*columns, TimeRemainingColumn(), TextColumn("{task.fields[note]}"), transient=True)
        self._tasks: dict[str, Any] = {}
        self._bars.start()

    def __call__(self, event: Event) -> None:
        if not event.total:
            self._bars.console.print(event.text, markup=False, highlight=False, soft_wrap=True)
            return
        if event.label not in self._tasks:
            self._tasks[event.label] = self._bars.add_task(event.label, total=event.total, note="")
        task = self._tasks[event.label]
        self._bars.update(task, completed=event.done, total=event.total, note=event.text)
        if event.done >= event.total:
            self._bars.remove_task(self._tasks.pop(event.label))

    def close(self) -> None:
        self._bars.stop()


@contextmanager
def for_terminal(*, quiet: bool = False, as_json: bool = False) -> Iterator[Progress]:
    """The progress that suits where output goes: bars on a terminal, plain lines elsewhere."""
    if quiet or as_json or not sys.stdout.isatty():
        yield Progress() if quiet else Progress(JsonLines(sys.stdout) if as_json else PlainLines(sys.stdout))
        return
    bars = Bars()
    try:
        yield Progress(bars)
    finally:
        bars.close()
