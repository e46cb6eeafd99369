"""A table made of runs that were made up: what stands in which cell, beside the paper's number."""

import csv
import io
import re
from itertools import product

import pytest

from fedrand.errors import InputError
from fedrand.progress import Progress
from fedrand.reproduce import pictures
from fedrand.reproduce.experiments import EXPERIMENTS
from fedrand.reproduce.grid import Grid
from fedrand.reproduce.paper import printed
from fedrand.reproduce.pictures import draw
from fedrand.reproduce.rows import METHODS, recipe_of, run_name
from fedrand.reproduce.run import reproduce
from fedrand.reproduce.written import as_csv, as_markdown

METRICS = ("exact", "bleu1", "bleu2", "bleu3", "bleu4", "rouge_l", "cider_d")


def found(level, auroc=None):
    """A run all of whose figures are `level`; clients a tenth below it."""
    server = {split: dict.fromkeys(METRICS, level) for split in ("test", "ood")}
    clients = {split: dict.fromkeys(METRICS, level - 0.1) for split in ("test", "ood")}
    rows = [
        {"model": model, "attack": f"MaxRenyi-{k}%", "slice": part, "auroc": auroc}
        for model in ("server", "client")
        for k in (0, 10)
        for part in ("image", "caption")
    ]
    audit = None if auroc is None else {"protocols": {"P0": {"rows": rows}}}
    return {
        "results": {"server": server, "clients": {"mean": clients}, "bytes": {"ratio_total": level}},
        "audit": audit,
    }


@pytest.fixture
def grid():
    experiment, runs = EXPERIMENTS["table1"], {}
    for row, level in {"FedAvg": 0.5, "FedRand": 0.6}.items():
        for seed in range(3):
            for data in experiment.data:
                runs[data, row, seed] = found(level + 0.01 * seed)
    return Grid("table1", experiment, runs, range(3))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("seed=7", "would make seed 7 in the row 'FedRand rho 0.3', seed 0; leave seed out"),
        ("strategy.name=fedavg", "would make strategy.name fedavg in the row 'FedRand rho 0.3'"),
        ("strategy.rho=0.4", "would make strategy.rho 0.4 in the row 'FedRand rho 0.3'"),
        ("data.name=emoji", "would make data.name emoji in the row 'FedRand rho 0.3'"),
    ],
)
def test_a_row_is_of_the_method_the_data_and_the_seed_that_it_is_shown_with(override, said):
    assert recipe_of("demo", "questions", "FedRand rho 0.3", 0, ("train.rounds=2",)).train.rounds == 2
    with pytest.raises(InputError, match=re.escape(said)):
        recipe_of("demo", "questions", "FedRand rho 0.3", 0, (override,))


@pytest.mark.parametrize("override", ["strategy.past=false", "strategy.normalize=false", "strategy.rho=0.4"])
def test_a_row_that_is_an_ablation_by_an_override_is_refused_too(override):
    with pytest.raises(InputError, match=rf"would make {override.split('=')[0]} .* in the row 'FedRand', seed 0"):
        recipe_of("demo", "captions", "FedRand", 0, (override,))


def test_data_without_clients_make_no_table():
    with pytest.raises(InputError, match=r"the tables' data name no clients, so data.partition=client deals nothing"):
        recipe_of("demo", "captions", "centralised", 0, ("data.partition=client",))


def test_bytes_that_were_sent_again_are_told_where_bytes_are_shown():
    experiment = EXPERIMENTS["fig3"]
    runs = {
        ("captions", row, 0): {"results": {"bytes": {"ratio_total": 1.0, "repeated": 4096 * (row == "FedPara")}}}
        for row in experiment.rows
    }
    text = as_markdown(Grid("fig3", experiment, runs, (0,)), "x")
    assert (
        "Bytes that were sent again, as a run was stopped or a round repeated, counted too: FedPara, seed 0: 4,096."
        in text
    )


def test_without_matplotlib_nothing_is_run(monkeypatch, tmp_path):
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'fedrand\[figures\]'"):
        reproduce("table1", "demo", 1, tmp_path / "out", (), 1, Progress())
    assert not (tmp_path / "out").exists()


def test_every_row_of_every_experiment_can_be_made():
    for experiment in EXPERIMENTS.values():
        for data, method in product(experiment.data, (*experiment.rows, *experiment.extra, experiment.against)):
            assert recipe_of("demo", data, method, 2, ()).seed == 2


def test_a_figure_that_is_no_number_was_not_measured(grid):
    for broken in ({}, {"mean": None}, {"mean": {"test": {"cider_d": "much"}}}):
        grid.runs["captions", "FedAvg", 1]["results"]["clients"] = broken
        assert line(grid, "FedAvg", "client", "CIDEr").here.n == 2


def line(grid, row, part, column):
    (one,) = [one for one in grid.lines() if (one.row, one.part, one.column) == (row, part, column)]
    return one


def test_a_cell_holds_the_mean_over_seeds_in_per_cent_beside_the_papers_number(grid):
    one = line(grid, "FedRand", "server", "CIDEr")
    assert one.here.mean == pytest.approx(61)
    assert one.here.std == pytest.approx(1)
    assert one.paper == 110.27
    assert line(grid, "FedAvg", "client", "accuracy").here.mean == pytest.approx(41)
    assert line(grid, "FedAvg", "client", "accuracy").paper == 79.90


def test_the_loss_is_a_column_of_ours_in_nats_with_three_digits(grid):
    for number in (0, 1, 2):
        grid.runs["captions", "FedRand", number]["results"]["server"]["test"]["nll"] = 3.6604
    one = line(grid, "FedRand", "server", "NLL")
    assert (one.here.mean, one.paper) == (pytest.approx(3.6604), None)
    assert "3.660 ± 0.000 |" in as_markdown(grid, "fedrand reproduce table1")


def test_the_difference_is_to_fedavg_and_says_whether_the_seeds_resolve_it(grid):
    one = line(grid, "FedRand", "server", "BLEU-4")
    assert one.change.mean == pytest.approx(10)
    assert one.verdict == "higher"
    assert line(grid, "FedAvg", "server", "BLEU-4").change is None


def test_a_row_that_was_not_run_is_not_measured_and_keeps_the_papers_number(grid):
    one = line(grid, "FedPara", "server", "accuracy")
    assert one.here is None
    assert one.paper == 64.78
    assert "not measured (64.78)" in as_markdown(grid, "fedrand reproduce table1")


def test_the_csv_has_a_line_per_figure_and_the_markdown_a_table_per_part(grid):
    rows = list(csv.DictReader(io.StringIO(as_csv(grid))))
    assert len(rows) == 2 * (7 + 1) * len(grid.rows)
    (one,) = [r for r in rows if (r["part"], r["row"], r["column"]) == ("client", "FedRand", "ROUGE-L")]
    assert (float(one["mean"]), one["seeds"], one["paper"]) == (pytest.approx(51), "3", "53.64")
    assert [text for text in as_markdown(grid, "x").splitlines() if text.startswith("## ")] == [
        "## server",
        "## client",
    ]


def test_every_row_that_the_paper_prints_has_as_many_numbers_as_the_table_has_columns():
    for name, experiment in EXPERIMENTS.items():
        for part in experiment.parts:
            for row in experiment.rows:
                numbers = printed(name, part, row)
                assert numbers is None or len(numbers) == len(experiment.columns), (name, part, row)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_method_of_an_experiment_is_a_recipe_of_its_own_folder(name):
    experiment = EXPERIMENTS[name]
    rows = (*experiment.rows, *experiment.extra, experiment.against)
    recipes = [recipe_of("demo", data, row, 1) for row in dict.fromkeys(rows) for data in experiment.data]
    assert {recipe.seed for recipe in recipes} == {1}
    assert len({recipe.model_dump_json() for recipe in recipes}) == len(recipes)
    names = {run_name(data, row, 1) for row in dict.fromkeys(rows) for data in experiment.data}
    assert len(names) == len(recipes)


def test_the_paper_scale_knows_every_method_of_the_demo_scale():
    assert METHODS["paper"].keys() == METHODS["demo"].keys()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_picture_is_drawn_with_and_without_its_figures(name):
    experiment = EXPERIMENTS[name]
    methods = dict.fromkeys((*experiment.rows, *experiment.extra, experiment.against))
    runs = {
        (data, method, seed): found(0.4 + 0.1 * seed, auroc=0.5)
        for data in experiment.data
        for method in methods
        for seed in range(2)
    }
    text = {"member": True, "tokens": [" a", " cat"], "entropies": [3.2, 0.1]}
    for run in runs.values():
        if run["audit"]:
            run["audit"]["entropy"] = [text, {**text, "member": False}]
    for some in (runs, {key: found(0.4) for key in runs}):
        drawn = draw(Grid(name, experiment, some, range(2)))
        assert drawn["png"].startswith(b"\x89PNG")
        assert b"<svg" in drawn["svg"]


@pytest.mark.parametrize(("overrides", "rounds"), [((), 10), (("train.rounds=12", "train.clients_per_round=2"), 2)])
def test_centralised_training_sees_as_many_examples_as_the_other_rows(overrides, rounds):
    """30 rounds with 4 of 12 clients are 10 times all data."""
    assert recipe_of("demo", "captions", "centralised", 0, overrides).train.rounds == rounds
    assert recipe_of("demo", "captions", "local only", 0, overrides).train.rounds == (12 if overrides else 30)


def test_only_what_a_table_prints_is_measured():
    tables = {name: one for name, one in EXPERIMENTS.items() if any(f.path[:1] == ("ood",) for f in one.figures)}
    assert all("client" not in one.parts for one in tables.values())
    assert all(f.data == "captions" for one in tables.values() for f in one.figures if f.path[:1] == ("ood",))
    spared = {data: recipe_of("demo", data, "FedAvg", 0).evaluate.ood for data in ("captions", "questions")}
    assert spared == {"captions": "server", "questions": "nobody"}
