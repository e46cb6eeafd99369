import io

import audits
import pytest
from rich.console import Console

from fedrand.cli import main
from fedrand.demo import in_short
from fedrand.evaluate import spread
from fedrand.report.compare import compare
from fedrand.report.terminal import audit_table, comparison_table, run_table, show


def shown(table):
    file = io.StringIO()
    show(table, file)
    return file.getvalue()


def row(text, *words):
    """The cells of the line that starts with these words."""
    line = next(line for line in text.splitlines() if line.split()[: len(words)] == list(words))
    return line.split()[len(words) :]


def test_a_run_is_shown_before_and_after_with_what_its_figures_are(world):
    text = shown(run_table(world.results))
    assert row(text, "test", "NLL") == ["2.111", "1.222", "1.333", "±", "0.044", "1.444", "±", "0.033"]
    assert row(text, "qa", "kind,", "PMI")[:2] == ["75.0", "75.0"]
    assert "1,234,567 (0.50 of FedAvg)" in text
    assert "method fedrand, seed 7; clients: unweighted mean and standard deviation over the 2 clients" in text


def test_an_audit_is_shown_by_one_row_per_model_chosen_beforehand_or_the_reason_for_none(world):
    text = shown(audit_table(world.audit))
    figures = ["0.555", "[0.525,", "0.585]", "\N{EN DASH}", "\N{EN DASH}", "0.491", "612", "598"]
    assert row(text, "fixed", "T0", "server", "reference,", "caption") == figures
    assert "no half was sent twice" in text
    assert "0.512" not in text
    assert "seed 7" in text and "5 rows are in audit.json" in text


def test_the_verdict_per_threat_model_comes_first_and_is_read_below():
    text = shown(audit_table(audits.realistic()))
    lines = text.splitlines()
    assert [line.split()[:2] for line in lines[2:9]] == [
        ["worst", name] for name in ("T0", "T1", "T2", "T3", "T3+", "T4", "Tinf")
    ]
    assert row(text, "worst", "T1") == ["not", "tested"]
    assert row(text, "worst", "T3", "update", "gradient", "cosine,", "all", "uploads")[:3] == [
        "0.812",
        "[0.782,",
        "0.842]",
    ]
    assert "refused: 598 non-members allow 0.6 false positives" in row_text(lines, "worst  T3 ")
    assert "T3, curious server: A curious server tells a client's members from others with AUROC 0.812." in lines
    assert len(lines) < 30


def test_adversaries_with_one_verdict_share_its_line():
    audit = audits.realistic()
    first, second, *_ = audit["threats"]
    second["sentence"] = first["sentence"]
    lines = shown(audit_table(audit)).splitlines()
    names = "; ".join(f"{one['id']}, {one['adversary']}" for one in (first, second))
    assert [line for line in lines if line.endswith(first["sentence"])] == [f"{names}: {first['sentence']}"]


def test_the_terminal_says_what_the_page_says_of_models_that_are_given_and_of_a_verdict_without_a_leak():
    audit = audits.realistic()
    audit["threats"][0] |= {"status": "not resolved", "sentence": "Not resolved: minimum detectable 0.541."}
    lines = shown(audit_table(audit)).splitlines()
    assert "[0.787, 0.837], p = 0.012" in row_text(lines, "worst  T3 ")
    assert "T0, user of the final model: Not resolved: minimum detectable 0.541." in lines


def row_text(lines, start):
    return next(line for line in lines if line.startswith(start))


def test_runs_are_shown_side_by_side_with_their_warnings(new_world, tmp_path):
    other = new_world()
    other.results["seed"] = 8
    comparison = compare([new_world().write(tmp_path / "a"), other.write(tmp_path / "b")])
    text = shown(comparison_table(comparison))
    assert row(text, "CIDEr-D", "server", "test") == ["88.8", "88.8"]
    assert "the runs differ in seed: a 7; b 8" in text
    assert "unweighted mean" in text


def test_without_a_terminal_the_text_is_plain_and_no_line_is_wrapped(world):
    world.results["clients"]["n"] = 10**90
    lines = shown(run_table(world.results)).splitlines()
    assert max(map(len, lines)) > 200
    assert not set("".join(lines)) & set("\x1b│━─┃")
    assert all(line == line.rstrip() for line in lines)


def test_showing_leaves_the_table_as_it_was(world):
    table = run_table(world.results)
    shown(table)
    assert table.box is not None


def test_a_name_in_brackets_is_a_name_and_no_style(world):
    world.audit["protocols"]["P1"]["rows"][2]["attack"] = "[red]loss[/red]"
    console = Console(file=io.StringIO(), width=200, force_terminal=True)
    console.print(audit_table(world.audit))
    assert "[red]loss[/red]" in console.file.getvalue()


def test_nothing_known_is_shown_as_dashes():
    assert "\N{EN DASH}" in shown(run_table({}))
    assert "Audit" in shown(audit_table({}))


def test_a_worst_row_has_the_interval_for_all_attacks_together():
    audit = audits.realistic()
    audit["threats"][3]["worst"]["adjusted"] = [0.7673, 0.8573]
    lines = shown(audit_table(audit)).splitlines()
    assert "0.812 [0.767, 0.857] corrected" in row_text(lines, "worst  T3 ")
    assert "0.831 [0.801, 0.861] uncorrected" in row_text(lines, "worst  T3+ ")


def test_the_command_says_each_warning_once(new_world, tmp_path, capsys):
    other = new_world()
    other.results["seed"] = 8
    assert (
        main(["compare", *(str(run.write(tmp_path / name)) for name, run in (("a", new_world()), ("b", other)))]) == 0
    )
    assert capsys.readouterr().out.count("the runs differ in seed: a 7; b 8") == 1


def test_a_mean_over_one_client_has_no_standard_deviation(world):
    world.results["clients"] |= spread([{"test": {"nll": 1.3}}])
    assert row(shown(run_table(world.results)), "test", "NLL")[2:5] == ["1.300", "±", "\N{EN DASH}"]
    assert spread([{"test": {"nll": 1.0}}, {"test": {"nll": 2.0}}])["std"]["test"]["nll"] == pytest.approx(0.5**0.5)


def test_the_demo_ends_with_what_it_comes_to():
    results = {"bytes": {"ratio_upload": 0.512}, "before": {"test": {"nll": 3.7844}}}
    runs = {
        name: {"results": {**results, "server": {"test": {"nll": loss}}}, "audit": audits.realistic()}
        for name, loss in (("fedrand", 3.6681), ("fedavg", 3.6519))
    }
    runs["fedavg"]["audit"]["protocols"]["P1"]["rows"] = []
    said = in_short(runs)
    assert "sent 51% of the bytes" in said and "from 3.784 to 3.668, with FedAvg to 3.652 nats" in said
    assert "AUROC" not in said  # without a figure on both sides nothing is said
    runs["fedavg"]["audit"] = audits.realistic()
    assert "with AUROC 0.812 [0.782, 0.842] and FedAvg's with AUROC 0.812 [0.782, 0.842]" in in_short(runs)
