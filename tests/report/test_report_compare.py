import csv
import json
import xml.etree.ElementTree as ElementTree

import pytest

from fedrand.report.compare import compare
from fedrand.report.load import ReportError


@pytest.fixture
def pair(new_world, tmp_path):
    ours, theirs = new_world(), new_world()
    theirs.results["method"] = "fedavg"
    theirs.results["server"]["test"]["cider_d"] = 0.999
    theirs.recipe = theirs.recipe.replace('"fedrand"', '"fedavg"').replace("rho = 0.5\n", "")
    return ours, theirs, tmp_path


def written(pair):
    ours, theirs, folder = pair
    return [ours.write(folder / "a"), theirs.write(folder / "b")]


def test_a_row_per_run_holds_the_files_figures(pair):
    ours, theirs = compare(written(pair)).rows
    assert (ours["run"], ours["method"], ours["seed"]) == ("a", "fedrand", 7)
    assert (ours["server_test_nll"], ours["server_ood_nll"], ours["server_test_cider_d"]) == (1.222, 2.222, 0.888)
    assert (ours["clients_test_cider_d_mean"], ours["clients_test_cider_d_std"]) == (0.777, 0.055)
    assert (ours["ratio_upload"], ours["ratio_total"]) == (0.5, 0.75)
    assert ours["auroc_T0_server_reference_caption"] == 0.555
    assert ours["auroc_T3_client_reference_caption_high"] == pytest.approx(0.648)
    assert theirs["server_test_cider_d"] == 0.999


def test_runs_that_differ_only_in_their_method_need_no_warning(pair):
    assert compare(written(pair)).warnings == ()


def test_what_else_differs_is_named_and_the_runs_are_compared_all_the_same(pair):
    _, theirs, _ = pair
    theirs.recipe = theirs.recipe.replace("alpha = 0.5", "alpha = 0.1")
    theirs.environment = {**theirs.environment, "model": {"name": "tiny", "fingerprint": "other"}}
    theirs.results["seed"] = 8
    comparison = compare(written(pair))
    assert comparison.warnings == (
        "the runs differ in data.alpha: a 0.5; b 0.1",
        "the runs differ in model.fingerprint: a 9f2c; b other",
        "the runs differ in seed: a 7; b 8",
    )
    assert len(comparison.rows) == 2


def test_audits_with_other_settings_than_the_recipe_are_told_by_what_they_used(pair):
    ours, theirs, _ = pair
    for one, uploads in ((ours, 4), (theirs, 0)):
        one.audit["settings"] = {"uploads": uploads, "shadows": 2}
    assert compare(written(pair)).warnings == ("the runs differ in audit.uploads: a 4; b 0",)


def test_runs_of_one_method_with_other_options_or_protections_are_told_apart(pair):
    ours, theirs, _ = pair
    for one, rho in ((ours, 0.5), (theirs, 0.7)):
        one.results["method"] = "fedrand"
        one.recipe = f"[strategy]\nname = 'fedrand'\nrho = {rho}\n[privacy]\nclip = {rho - 0.5:g}\n"
    assert compare(written(pair)).warnings == (
        "the runs differ in privacy.clip: a 0; b 0.2",
        "the runs differ in strategy.rho: a 0.5; b 0.7",
    )
    theirs.results["method"] = "fedper"  # of another method rho may be anything
    other = theirs.write(pair[2] / "c")
    assert compare([pair[2] / "a", other]).warnings == ("the runs differ in privacy.clip: a 0; c 0.2",)


def test_a_run_without_seed_or_audit_or_with_another_attack_is_named(pair):
    ours, theirs, folder = pair
    del theirs.results["seed"]
    theirs.audit = None
    ours.audit["protocols"]["P1"]["rows"].pop(1)
    runs = [*written(pair), type(ours)().write(folder / "c")]
    assert compare(runs).warnings == (
        "no seed is known of b",
        f"b is not audited; `fedrand audit {folder / 'b'}` does it",
        "the headline attacks on the server differ: T0 loss, caption, T0 reference, caption",
    )


def test_the_files_hold_the_same_rows(pair, read):
    *_, folder = pair
    comparison = compare(written(pair), folder / "out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        f"compare.{kind}" for kind in ("csv", "html", "json", "md", "svg")
    ]
    with (folder / "out/compare.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["server_test_cider_d"]) for row in rows] == [0.888, 0.999]
    assert list(rows[0]) == comparison.names
    assert json.loads((folder / "out/compare.json").read_text())["rows"] == list(comparison.rows)
    markdown = (folder / "out/compare.md").read_text()
    assert "| a | fedrand | 7 | 1.222 | 2.222 | 88.8 |" in markdown
    text = read((folder / "out/compare.html").read_text()).text
    assert "77.7 \N{PLUS-MINUS SIGN} 5.5" in text and "0.618 [0.588, 0.648]" in text


def test_the_plot_is_a_file_on_its_own_with_a_point_per_run_and_model(pair):
    *_, folder = pair
    compare(written(pair), folder / "out")
    root = ElementTree.parse(folder / "out/compare.svg").getroot()
    circles = [node.get("class") for node in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert sorted(circles) == ["client point"] * 2 + ["point"] * 2 + ["server point"] * 2
    bars = [node.attrib for node in root.iter("{http://www.w3.org/2000/svg}line") if node.get("class") == "error"]
    upright = [bar for bar in bars if bar["x1"] == bar["x2"]]
    assert len(bars) == 6 and len(upright) == 2
    assert all(float(bar["y1"]) > float(bar["y2"]) for bar in upright)
    assert "prefers-color-scheme" in (folder / "out/compare.svg").read_text()


def test_without_any_audit_there_is_a_table_and_no_plot(pair, read):
    ours, theirs, folder = pair
    ours.audit = theirs.audit = None
    compare(written(pair), folder / "out")
    assert not (folder / "out/compare.svg").exists()
    assert "there is nothing to draw" in read((folder / "out/compare.html").read_text()).text


def test_missing_figures_are_dashes_and_nulls(pair):
    ours, _, folder = pair
    ours.results["server"]["test"]["nll"] = None
    ours.results["clients"] = {}
    comparison = compare(written(pair), folder / "out")
    assert comparison.rows[0]["server_test_nll"] is None
    assert comparison.texts()[0][3] == "\N{EN DASH}"
    assert json.loads((folder / "out/compare.json").read_text())["rows"][0]["server_test_nll"] is None


def test_runs_of_one_folder_name_are_told_apart_by_their_paths(new_world, tmp_path):
    runs = [new_world().write(tmp_path / parent / "run") for parent in ("x", "y")]
    assert [row["run"] for row in compare(runs).rows] == [str(run) for run in runs]


def test_names_stay_text_in_every_file(pair, read):
    ours, _, folder = pair
    ours.results["method"] = "<script>|x"
    compare(written(pair), folder / "out")
    assert "<script>" not in (folder / "out/compare.html").read_text()
    assert "<script>" not in (folder / "out/compare.svg").read_text()
    assert "<script>\\|x" in (folder / "out/compare.md").read_text()


def test_nothing_to_compare_says_what_to_name():
    with pytest.raises(ReportError, match="name one run folder or more"):
        compare([])
