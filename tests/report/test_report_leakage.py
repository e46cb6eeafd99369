import pytest

from fedrand.report.finding import findings
from fedrand.report.leakage import groups, headline, verdict


def rows_of(world, model):
    return [row for row in findings(world.audit, "P1") if row.model == model]


def test_a_row_leaks_when_its_interval_lies_above_a_coin_and_above_the_base_model(world):
    rows = world.audit["protocols"]["P1"]["rows"]
    assert [row.leaks for row in findings(world.audit, "P1")] == [False, True, True, False, False]
    rows[1]["base_auroc"] = 0.53
    assert not findings(world.audit, "P1")[1].leaks
    rows[2]["low"] = 0.5
    assert not findings(world.audit, "P1")[2].leaks


def test_the_verdict_on_a_leak_counts_intervals_and_says_it_picked_one(world):
    words = verdict(rows_of(world, "server"))
    assert words.startswith(
        "1 of 2 intervals (95%) lies above 0.5 and the base model's own value; by chance about 0.05"
    )
    assert "reference, caption" in words and "0.555 [0.525, 0.585]" in words
    assert "clearest of 2, not corrected" in words


def test_the_verdict_on_a_single_attack_says_nothing_of_picking(world):
    words = verdict(rows_of(world, "client"))
    assert words.endswith("held-out items with AUROC 0.618 [0.588, 0.648].")


def test_the_verdict_after_correction_counts_and_shows_the_corrected_intervals(world):
    rows = world.audit["protocols"]["P1"]["rows"]
    rows[0]["adjusted"], rows[1]["adjusted"] = [0.47, 0.56], [0.51, 0.6]
    words = verdict(rows_of(world, "server"))
    assert words.startswith("1 of 2 intervals (95%, for all attacks together) lies above") and "by chance" not in words
    assert "clearest of 2; corrected for all attacks: [0.510, 0.600]" in words


def test_the_verdict_counts_what_is_confounded_and_claims_no_leak_by_it(world):
    rows = world.audit["protocols"]["P1"]["rows"]
    rows[1].update(confounded=True, over_blind={"value": 0.01, "low": -0.01, "high": 0.03})
    words = verdict(rows_of(world, "server"))
    assert "nothing is resolved by these attacks" in words and words.endswith("tells the two sides apart as well.")


def test_the_verdict_without_a_leak_says_what_is_not_ruled_out(world):
    words = verdict(rows_of(world, "server")[:1])
    assert "nothing is resolved by these attacks" in words
    assert "A leak up to AUROC 0.542 is not ruled out." in words


def test_a_missing_bound_rules_nothing_out(world):
    world.audit["protocols"]["P1"]["rows"][0]["high"] = None
    assert "A leak of any size is not ruled out." in verdict(rows_of(world, "server")[:1])


def test_the_verdict_on_the_base_model_is_a_control(world):
    assert verdict(rows_of(world, "base")) == "1 of 1 intervals of this control cover 0.5; 95% should."


@pytest.mark.parametrize("control", ["base", "blind"])
def test_a_control_that_misses_a_coin_warns_instead_of_claiming_a_leak(world, control):
    world.audit["protocols"]["P1"]["rows"][4].update(model=control, auroc=0.6, low=0.55, high=0.65)
    words = verdict(rows_of(world, control))
    assert words.startswith("0 of 1") and "Not those of loss, caption: there, members and others differ" in words
    assert "leak" not in words


def test_the_verdict_on_attacks_that_do_not_apply_gives_the_reason(world):
    assert verdict(rows_of(world, "update")) == "No attack gave a figure: no half was sent twice."


def test_a_row_that_does_not_apply_has_no_figure_even_if_the_file_holds_one(world):
    world.audit["protocols"]["P1"]["rows"][1]["applies"] = False
    assert findings(world.audit, "P1")[1].auroc is None


def test_the_headline_is_a_fixed_attack_not_the_best(world):
    rows = world.audit["protocols"]["P1"]["rows"]
    rows[0].update(auroc=0.9, low=0.85, high=0.95)
    assert headline(findings(world.audit, "P1"), "server").attack == "reference"
    rows[0]["headline"] = True
    assert headline(findings(world.audit, "P1"), "server").attack == "loss"
    assert headline(findings(world.audit, "P1"), "update") is None


def test_rows_are_grouped_by_threat_and_model_in_their_order(world):
    found = groups(findings(world.audit, "P1"))
    assert list(found) == [("T0", "server"), ("T3", "client"), ("T3", "update"), ("T0", "base")]


@pytest.mark.parametrize("broken", [{}, {"protocols": None}, {"protocols": {"P1": {}}}])
def test_an_audit_without_rows_has_no_findings(broken):
    assert findings(broken, "P1") == []
