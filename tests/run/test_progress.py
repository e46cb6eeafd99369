"""Progress as plain lines, as JSON lines, from another process, or not at all."""

import io
import json

from fedrand.progress import JsonLines, PlainLines, Progress


def test_plain_lines_show_the_first_the_last_and_few_between():
    stream, now = io.StringIO(), iter([0, 1, 12, 13, 14])
    progress = Progress(PlainLines(stream, clock=lambda: next(now)))
    assert list(progress.track("abcde", "work")) == list("abcde")
    assert stream.getvalue().splitlines() == ["work 1/5", "work 3/5", "work 5/5"]


def test_json_lines_are_one_object_each():
    stream = io.StringIO()
    progress = Progress(JsonLines(stream)).named("fedrand")
    progress.say("hello")
    progress.step("rounds", 1, 2, "loss 3")
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"event": "say", "text": "fedrand: hello"},
        {"event": "step", "label": "fedrand rounds", "done": 1, "total": 2, "text": "loss 3"},
    ]


def test_silence_is_the_default():
    assert list(Progress().track(range(3), "work")) == [0, 1, 2]
