import csv
import json

import audits
import pytest

from fedrand.report.compare import compare
from fedrand.report.pairs import student


@pytest.fixture
def pair(new_world):
    """Two runs on the same items; in the second every client's headline AUROC is lower, by 0.02 to 0.07."""
    ours, theirs = new_world(), new_world()
    ours.audit, theirs.audit = audits.realistic(), audits.realistic()
    for row in theirs.audit["protocols"]["P1"]["rows"]:
        for place, name in enumerate(row.get("per_client", {})):
            row["per_client"][name] -= 0.02 + 0.01 * place
    return ours, theirs


def compared(pair, folder, out=None):
    return compare([world.write(folder / name) for world, name in zip(pair, "ab", strict=True)], out)


@pytest.mark.parametrize(("freedom", "quantile"), [(3, 3.1824), (5, 2.5706), (11, 2.2010), (100, 1.9840)])
def test_students_quantile_is_within_a_hundredth_of_the_table(freedom, quantile):
    assert student(freedom) == pytest.approx(quantile, rel=0.01)


def test_a_paired_difference_is_the_mean_over_clients_with_its_t_interval(pair, tmp_path):
    first, second = compared(pair, tmp_path).rows
    stem = "paired_T3_client_reference_answer"
    assert stem not in first
    assert second[stem] == pytest.approx(-0.045)
    half = 2.5706 * 0.018708 / 6**0.5  # six clients, standard deviation of 0.02 ... 0.07
    assert second[f"{stem}_low"] == pytest.approx(-0.045 - half, abs=1e-4)
    assert second[f"{stem}_high"] == pytest.approx(-0.045 + half, abs=1e-4)


def drop_clients(world):
    for row in world.audit["protocols"]["P1"]["rows"]:
        row["per_client"] = dict(list(row.get("per_client", {}).items())[:3])


def other_seed(world):
    world.results["seed"] = 8


def other_data(world):
    world.environment = {**world.environment, "data": {"fingerprint": "other"}}


def other_partition(world):
    world.recipe = world.recipe.replace("alpha = 0.5", "alpha = 0.1")


def other_sizes(world):
    for row in world.audit["protocols"]["P1"]["rows"]:
        row["n_members"] = 7


def other_attack(world):
    for row in world.audit["protocols"]["P1"]["rows"]:
        row["attack"] += "!"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (other_seed, "seed: 7 and 8"),
        (other_data, "data: ab12 and other"),
        (other_partition, "data.alpha: 0.5 and 0.1"),
        (other_sizes, "another number of items"),
        (other_attack, "another attack, reference, answer and reference!, answer"),
        (drop_clients, "other clients"),
    ],
)
def test_audits_of_other_items_have_no_paired_difference_and_the_reason_is_told(pair, tmp_path, change, reason):
    change(pair[1])
    comparison = compared(pair, tmp_path)
    assert not any(name.startswith("paired") for name in comparison.names)
    assert f"no paired difference of b to a, client: {reason}" in comparison.unpaired


def test_too_few_clients_give_no_interval(pair, tmp_path):
    for world in pair:
        drop_clients(world)
    assert "3 clients have a figure in both, 4 are needed" in compared(pair, tmp_path).unpaired[0]


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
    assert "0.812 [0.782, 0.842] gradient cosine, all uploads" in markdown
    text = read((tmp_path / "out/compare.html").read_text()).under("worst")
    assert text.count("0.812 [0.782, 0.842]") == 2 and "T3+, curious server, all clients" in text


def test_a_run_without_a_verdict_stands_beside_one_with(pair, tmp_path, read):
    pair[1].audit = None
    comparison = compared(pair, tmp_path, tmp_path / "out")
    assert comparison.rows[1].get("worst_T3_auroc") is None
    assert "2. b not run" in read((tmp_path / "out/compare.html").read_text()).under("worst")
    assert "no paired difference of b to a, client: one of the two has no figure" in comparison.unpaired
