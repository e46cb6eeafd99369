import csv
import io
import json

import audits
import numpy as np
import pytest

from fedrand.audit.statistics import Sample, paired_delong, two_level_difference, two_level_interval
from fedrand.report.compare import compare
from fedrand.report.load import ReportError
from fedrand.report.terminal import comparison_table, show

CLIENTS = {"T3|client|reference|answer": audits.CLIENTS, "T3+|update|FedMIA|all uploads": audits.CLIENTS[:4]}
STEM = "paired_T3_client_reference_answer"


def scores(shift, noise=0.3):
    """The part "scores": 40 items a side and client, in pairs of variants; two runs share most of each score's chance."""
    part = {"clients": {}, "rows": []}
    groups = [n // 2 for n in range(40)]
    for name in audits.CLIENTS:
        part["clients"][name] = {side: {"sha256": f"{name}{side}", "groups": groups} for side in ("members", "others")}
    for number, (key, names) in enumerate(CLIENTS.items()):
        shared, own = np.random.default_rng(number), np.random.default_rng([number, int(100 * shift)])
        row = dict(zip(("threat", "model", "attack", "slice"), key.split("|"), strict=True)) | {"clients": {}}
        for name in names:
            members, others = (shared.normal(size=40) + noise * own.normal(size=40) for _ in range(2))
            row["clients"][name] = {"members": (members + shift).tolist(), "others": others.tolist()}
        part["rows"].append(row)
    return part


def samples(part, row=0):
    side = [f"{n // 2}" for n in range(40)]
    names = [f"m{n}" for n in side], [f"o{n}" for n in side]
    own = part["rows"][row]["clients"].values()
    return [Sample(np.array(one["members"]), names[0], np.array(one["others"]), names[1]) for one in own]


@pytest.fixture
def pair(new_world):
    """Two runs on the same items; the first leaks much more."""
    ours, theirs = new_world(), new_world()
    ours.audit = audits.realistic() | {"scores": scores(1.2)}
    theirs.audit = audits.realistic() | {"scores": scores(0.4)}
    return ours, theirs


def compared(pair, folder, out=None):
    return compare([world.write(folder / name) for world, name in zip(pair, "ab", strict=True)], out)


def test_a_paired_difference_is_that_of_the_statistics_on_the_same_items(pair, tmp_path):
    first, second = compared(pair, tmp_path).rows
    ours, theirs = samples(scores(1.2)), samples(scores(0.4))
    drawn, given = two_level_difference(theirs, ours), paired_delong(theirs, ours)
    assert STEM not in first
    assert [second[f"{STEM}{end}"] for end in ("", "_low", "_high")] == pytest.approx(drawn[:3])
    assert [second[f"{STEM}_given_{end}"] for end in ("low", "high", "p")] == pytest.approx(given[1:])
    assert second[f"{STEM}_resolved"] is True and drawn.high < 0
    assert second["paired_T3plus_update_FedMIA_all_uploads"] < 0  # kept though it is no headline


def test_a_difference_that_is_not_resolved_is_called_so(pair, tmp_path):
    pair[1].audit["scores"] = scores(1.21)
    row = compared(pair, tmp_path).rows[1]
    assert row[f"{STEM}_low"] < 0 < row[f"{STEM}_high"] and row[f"{STEM}_resolved"] is False


def test_the_same_items_resolve_what_intervals_that_overlap_do_not(pair, tmp_path):
    pair[1].audit["scores"] = scores(1.0)
    ours, theirs = samples(scores(1.2)), samples(scores(1.0))
    assert two_level_interval(theirs).high > two_level_interval(ours).low
    assert compared(pair, tmp_path).rows[1][f"{STEM}_resolved"] is True


def test_terminal_files_and_page_show_the_same_difference(pair, tmp_path, read):
    comparison = compared(pair, tmp_path, tmp_path / "out")
    row = comparison.rows[1]
    figure = f"{row[STEM]:.3f} [{row[f'{STEM}_low']:.3f}, {row[f'{STEM}_high']:.3f}] resolved"
    given = f"[{row[f'{STEM}_given_low']:.3f}, {row[f'{STEM}_given_high']:.3f}], p < 0.001"
    file = io.StringIO()
    show(comparison_table(comparison), file)
    page = read((tmp_path / "out/compare.html").read_text()).text
    for text in (file.getvalue(), page, (tmp_path / "out/compare.md").read_text()):
        assert figure in text and given in text
    assert json.loads((tmp_path / "out/compare.json").read_text())["rows"][1][STEM] == row[STEM]
    with (tmp_path / "out/compare.csv").open(newline="") as table:
        written = [*csv.DictReader(table)][1]
    assert float(written[STEM]) == row[STEM] and written[f"{STEM}_resolved"] == "True"


def other_items(part):
    part["scores"]["clients"]["c02"]["others"]["sha256"] = "changed"


def other_clients(part):
    del part["scores"]["clients"]["c05"]
    for row in part["scores"]["rows"]:
        row["clients"].pop("c05", None)


def other_data(part):
    part["provenance"]["data"]["fingerprint"] = "other"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (other_items, "other items of c02"),
        (other_clients, "other clients (c05 in one alone)"),
        (other_data, "other data"),
    ],
)
def test_audits_of_other_samples_are_compared_unpaired_and_the_reason_is_told(pair, tmp_path, change, reason):
    change(pair[1].audit)
    comparison = compared(pair, tmp_path)
    assert not any(name.startswith("paired") for name in comparison.names)
    assert comparison.unpaired == (
        f"b and a audited other samples, {reason}: compared unpaired, each AUROC with its own interval",
    )
    assert comparison.rows[1]["auroc_T3_client_reference_answer"] == 0.7114


def test_an_audit_that_kept_no_scores_names_the_command_that_does(pair, tmp_path):
    del pair[0].audit["scores"]
    comparison = compared(pair, tmp_path)
    assert not any(name.startswith("paired") for name in comparison.names)
    (line,) = comparison.unpaired
    assert line.endswith(f"the audit of a keeps no scores by item; make it again with: fedrand audit {tmp_path / 'a'}")


def test_an_attack_with_figures_of_other_clients_has_no_difference_and_the_rest_have(pair, tmp_path):
    del pair[1].audit["scores"]["rows"][1]["clients"]["c03"]
    comparison = compared(pair, tmp_path)
    assert STEM in comparison.names
    assert comparison.unpaired == (
        "no paired difference of b and a by T3+, update, FedMIA, all uploads: it has figures for other clients (c03 in one "
        "alone)",
    )


@pytest.mark.parametrize("broken", [{"clients": {}}, {"clients": {}, "rows": [{"threat": 1}]}, [1]])
def test_scores_of_another_form_are_told_to_be_made_again(pair, tmp_path, broken):
    pair[1].audit["scores"] = broken
    with pytest.raises(ReportError, match=r"audit\.json has not an audit's shape .*make it again with: fedrand audit"):
        compared(pair, tmp_path)


def test_the_worst_attack_of_every_adversary_is_in_every_file(pair, tmp_path, read):
    compared(pair, tmp_path, tmp_path / "out")
    with (tmp_path / "out/compare.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert float(row["worst_T3_auroc"]) == 0.8123 and row["worst_T3_attack"] == "gradient cosine, all uploads"
    assert float(row["worst_T3plus_auroc_high"]) == 0.8611
    assert row["worst_T3_tpr"] == "" and row["worst_T3_tpr_refused"].startswith("598 non-members")
    assert "worst_T1_auroc" not in row  # nobody tested it
    rows = json.loads((tmp_path / "out/compare.json").read_text())["rows"]
    assert rows[1]["worst_T0_auroc"] == 0.6541
    markdown = (tmp_path / "out/compare.md").read_text()
    assert "0.812 [0.782, 0.842] uncorrected: gradient cosine, all uploads" in markdown
    text = read((tmp_path / "out/compare.html").read_text()).under("worst")
    assert text.count("0.812 [0.782, 0.842]") == 2 and "T3+, curious server, all clients" in text


def test_a_run_without_a_verdict_stands_beside_one_with(pair, tmp_path, read):
    pair[1].audit = None
    comparison = compared(pair, tmp_path, tmp_path / "out")
    assert comparison.rows[1].get("worst_T3_auroc") is None
    assert "2. b not run" in read((tmp_path / "out/compare.html").read_text()).under("worst")
    assert comparison.unpaired == ()


def at_level(audit, level):
    for row in audit["protocols"]["P1"]["rows"]:
        row["level"] = level


def test_the_level_that_is_told_is_that_of_the_intervals(pair, tmp_path):
    for run in pair:
        at_level(run.audit, 0.9)
    comparison = compared(pair, tmp_path)
    assert "its 90% interval" in comparison.note and "95%" not in comparison.note
    drawn = two_level_difference(samples(scores(0.4)), samples(scores(1.2)), 0.9)
    assert comparison.rows[1][f"{STEM}_low"] == pytest.approx(drawn.low)


def test_audits_of_other_levels_are_compared_unpaired(pair, tmp_path):
    at_level(pair[1].audit, 0.9)
    comparison = compared(pair, tmp_path)
    assert not any(name.startswith("paired") for name in comparison.names) and "Paired" not in comparison.note
    assert comparison.unpaired == (
        "b and a are audited at 90% and 95%: compared unpaired, each AUROC with its own interval",
    )


def other_groups(part):
    for side in part["clients"]["c00"].values():
        side["groups"] = [*range(40)]


def one_side_empty(part):
    for name in part["clients"]:
        part["clients"][name]["others"]["groups"] = []
        for row in part["rows"]:
            if name in row["clients"]:
                row["clients"][name]["others"] = []


@pytest.mark.parametrize("change", [other_groups, one_side_empty])
def test_altered_items_under_the_same_digest_are_told_in_one_line(pair, tmp_path, change):
    change(pair[1].audit["scores"])
    with pytest.raises(ReportError, match=r"contradict each other .*again with: fedrand audit .*a; fedrand audit .*b$"):
        compared(pair, tmp_path)


def test_a_worst_attack_has_the_interval_corrected_for_all_attacks_and_says_so(pair, tmp_path, read):
    next(threat for threat in pair[0].audit["threats"] if threat["id"] == "T3")["worst"]["adjusted"] = [0.7673, 0.8573]
    first, second = compared(pair, tmp_path, tmp_path / "out").rows
    assert (first["worst_T3_auroc_low"], first["worst_T3_corrected"]) == (0.7673, True)
    assert (second["worst_T3_auroc_low"], second["worst_T3_corrected"]) == (0.7823, False)
    assert "0.812 [0.767, 0.857] corrected: gradient cosine" in (tmp_path / "out/compare.md").read_text()
    text = read((tmp_path / "out/compare.html").read_text()).under("worst")
    assert "0.812 [0.767, 0.857] corrected" in text and "0.812 [0.782, 0.842] uncorrected" in text
