import json

import numpy as np
import pytest

from fedrand.errors import InputError
from fedrand.federation import Federation, Memory, initial_server
from fedrand.ledger import metrics, rows
from fedrand.params import Key
from fedrand.report.compare import compare
from fedrand.report.load import (
    ReportError,
    Round,
    Sent,
    read_audit,
    read_environment,
    read_recipe,
    read_results,
    read_rounds,
)
from fedrand.report.page import write_page
from fedrand.round import Trained
from fedrand.strategies import fedrand


def round_of(*parts):
    return Round(0, {f"c{index}": Sent(part, 1, None) for index, part in enumerate(parts)}, {})


@pytest.mark.parametrize(
    ("parts", "alone"),
    [
        (("A", "A"), ()),
        (("A", "B", "B"), ("A",)),
        (("A", "B"), ("A", "B")),
        (("A", "all"), ()),
        (("all", "all"), ()),
        (("all",), ("all",)),
        (("mixed",), ("mixed",)),
        (("A", "mixed"), ()),
        ((), ()),
    ],
)
def test_a_part_is_alone_when_exactly_one_client_sent_it(parts, alone):
    assert round_of(*parts).alone == alone


def test_rounds_come_back_as_they_were_written(world, tmp_path):
    first, _, last = read_rounds(world.write(tmp_path / "run"))
    assert first.clients == {"c00": Sent("A", 10, 3.0), "c01": Sent("A", 10, 2.0)}
    assert (first.loss, first.unsent, first.alone) == (2.5, "B", ())
    assert last.refused == {"c01": "3 values are NaN or Inf"}


def one_line(caught):
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_folder_names_the_command_that_makes_a_run(tmp_path):
    with pytest.raises(ReportError) as caught:
        read_results(tmp_path / "nowhere")
    assert "fedrand run RECIPE --out" in one_line(caught)


@pytest.mark.parametrize(
    ("read", "name", "command"),
    [(read_results, "results.json", "fedrand resume"), (read_rounds, "metrics.jsonl", "fedrand run RECIPE")],
)
def test_a_missing_file_names_the_command_that_writes_it(world, tmp_path, read, name, command):
    run = world.write(tmp_path / "run")
    (run / name).unlink()
    with pytest.raises(InputError) as caught:
        read(run)
    assert name in one_line(caught) and command in str(caught.value)


@pytest.mark.parametrize(
    ("read", "name", "command"),
    [
        (read_results, "results.json", "fedrand resume"),
        (read_audit, "audit.json", "fedrand audit"),
        (read_rounds, "metrics.jsonl", "fedrand run RECIPE"),
        (read_environment, "environment.json", "fedrand run"),
    ],
)
@pytest.mark.parametrize("content", [b'{"round": 0, "clie', b"[1]", b"\xff\xfe\x00", b'{"round": NaN}'])
def test_a_file_that_is_not_whole_is_named_with_the_command_that_helps(world, tmp_path, read, name, command, content):
    run = world.write(tmp_path / "run")
    (run / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(run)
    assert name in one_line(caught) and command in str(caught.value)


@pytest.mark.parametrize("line", ['{"round": 3}', '{"round": "x", "clients": {}}', '{"round": 3, "clients": {"c": 1}}'])
def test_a_line_that_is_no_round_is_named_by_its_number(world, tmp_path, line):
    run = world.write(tmp_path / "run")
    with (run / "metrics.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ReportError, match=r"metrics.jsonl line 4 is no round"):
        read_rounds(run)


def test_what_is_optional_may_be_absent(world, tmp_path):
    run = world.write(tmp_path / "run")
    for name in ("audit.json", "environment.json", "recipe.toml"):
        (run / name).unlink()
    assert (read_audit(run), read_environment(run), read_recipe(run)) == (None, {}, ("", {}))


def test_a_recipe_that_is_not_toml_is_refused(world, tmp_path):
    world.recipe = "seed ="
    with pytest.raises(ReportError, match="is not TOML"):
        read_recipe(world.write(tmp_path / "run"))


class Adder:
    """Trains by adding one; the client "bad" hands over NaN."""

    def __init__(self, value):
        self.value = value

    def initial(self, rng):
        return {Key("layer", factor): np.zeros((1, 1), np.float32) for factor in "AB"}

    def train(self, start, trained, rng, proximal):
        return Trained({key: value + self.value for key, value in start.items()}, 5, 1, {"loss_mean": 1.5})


def test_the_lines_that_the_ledger_writes_are_the_rounds_that_the_report_reads(tmp_path):
    learners = {"c00": Adder(np.float32(1)), "bad": Adder(np.float32("nan"))}
    federation = Federation(fedrand(rho=1.0), learners, clients_per_round=2, seed=0)
    done = next(federation.rounds(initial_server(learners["c00"], 0), Memory(), 1))
    (tmp_path / "metrics.jsonl").write_text(json.dumps(metrics(done, rows(done))) + "\n")
    (read,) = read_rounds(tmp_path)
    assert read.clients == {"c00": Sent("A", 5, 1.5)}
    assert (read.loss, read.unsent, read.alone) == (1.5, "B", ("A",))
    assert list(read.refused) == ["bad"] and "NaN" in read.refused["bad"]


@pytest.mark.parametrize("audit", [{"threats": [1]}, {"protocols": {"P1": {"rows": ["x"]}}}])
@pytest.mark.parametrize("read", [write_page, lambda run: compare([run])])
def test_an_audit_of_another_shape_is_told_to_be_made_again(world, tmp_path, audit, read):
    world.audit = audit
    with pytest.raises(ReportError, match=r"audit\.json has not an audit's shape .*make it again with: fedrand audit"):
        read(world.write(tmp_path / "run"))


@pytest.mark.parametrize("read", [write_page, lambda run: compare([run])])
def test_an_audit_of_a_later_version_is_refused_in_one_line_and_earlier_ones_are_read(world, tmp_path, read):
    world.audit["version"] = 4
    with pytest.raises(ReportError) as caught:
        read(world.write(tmp_path / "later"))
    assert "is of version 4, this fedrand reads 1 to 3; make it again with: fedrand audit" in one_line(caught)
    for version in (1, 2, 3):
        world.audit["version"] = version
        read(world.write(tmp_path / str(version)))
