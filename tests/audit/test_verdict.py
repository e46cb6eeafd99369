"""What may be said of an adversary: a leak where one is resolved, "no leak" only where every attack is like a coin."""

import numpy as np
import pytest
from score_worlds import lone

from fedrand.audit.headlines import sentences
from fedrand.audit.rows import Row, Settings, line
from fedrand.audit.statistics import detectable, equivalent, family, two_level_difference
from fedrand.audit.verdict import threats

HOW = Settings(resamples=50, level=0.95)


def verdict_row(low, high, confounded=False, tost=None, **more):
    where = {"threat": "T0", "model": "server", "attack": "reference", "slice": "answer", "headline": True}
    figures = {"auroc": (low + high) / 2, "low": low, "high": high, "adjusted": [low - 0.02, high + 0.02], "level": 0.9}
    near = tost or (low + 0.01, high - 0.01)
    figures["equivalence"] = {"margin": 0.05, "low": near[0], "high": near[1]}
    figures["equivalence"]["equivalent"] = near[0] > 0.45 and near[1] < 0.55
    figures |= {"fixed": {"low": low, "high": high, "p": 0.3}, "detectable": 0.57, "adjusted_detectable": 0.58}
    over = {"value": 0.02, "low": -0.01, "high": 0.05} if confounded else None
    controls = {
        "confounded": confounded,
        "over_base": None,
        "over_blind": over,
        "tpr": {"0.01": {"refused": "too few"}},
    }
    counts = {"n_members": 50, "n_nonmembers": 50, "applies": True, "reason": ""}
    return {**where, **figures, **controls, **counts, **more}


NOT_RESOLVED = (
    "Not resolved: no attack shows a leak, but not all are shown equivalent to a coin within 0.05 (TOST at 90%: 0"
)
NO_LEAK = (
    "No leak found above AUROC 0.560 at 90%, minimum detectable 0.580: the one attack is shown equivalent to a coin within "
    "0.05 (TOST at 90%: 0.480 to 0.530). The nearest to a leak: reference (answer) on the server's model, AUROC 0.505 "
    "[0.450, 0.560] at 90%, corrected for the number of attacks."
)
WORDS = [
    (0.55, 0.7, False, "leak found", "membership leaks", "Membership leaks. Worst attack: reference (answer)"),
    (0.45, 0.6, False, "not resolved", "not resolved: reference", NOT_RESOLVED),
    (0.47, 0.54, False, "no leak found", "no leak found above AUROC 0.540 at 90%, minimum detectable 0.570", NO_LEAK),
    (0.3, 0.45, False, "score reversed", "below a coin", "Below a coin, so a score is reversed or the halves differ"),
    (0.51, 0.7, False, "not resolved", "membership leaks", "AUROC 0.605 [0.490, 0.720] at 90%"),  # one of many attacks
    (
        0.6,
        0.7,
        True,
        "confounded",
        "+0.020 [-0.010, +0.050]",
        "Confounded: on the clients of this row members and others differ without any model",
    ),
]


@pytest.mark.parametrize(("low", "high", "confounded", "status", "of_the_model", "of_the_threat"), WORDS)
def test_the_closing_words_follow_the_interval(low, high, confounded, status, of_the_model, of_the_threat):
    rows = [verdict_row(low, high, confounded)]
    said = sentences({"protocols": {"P1": {"rows": rows}}})
    user, *_ = threats(rows, [])
    assert of_the_model in said[0]
    assert of_the_threat in user["sentence"]
    assert user["status"] == status
    assert threats([], [])[0]["sentence"] == "No attack of this adversary gave a figure."
    assert all("private" not in sentence.lower() for sentence in (*said, user["sentence"]))


def test_too_few_examples_say_nothing():
    row = {**verdict_row(0.2, 1.0), "n_members": 2, "n_nonmembers": 3}
    found = threats([row], [])[0]
    assert (found["status"], found["sentence"]) == (
        "too few examples",
        "2 members and 3 others are too few to say anything.",
    )
    assert "too few" in sentences({"protocols": {"P1": {"rows": [row]}}})[0]


def test_one_attack_that_is_not_like_a_coin_forbids_the_words_no_leak():
    like, unlike = verdict_row(0.47, 0.53), verdict_row(0.42, 0.58, attack="loss")
    for rows, said in (([like, like], "no leak found"), ([like, unlike], "not resolved")):
        user, *_ = threats(rows, [])
        assert user["status"] == said
    assert "1 of 2 are; furthest loss (answer)" in user["sentence"] and "No leak" not in user["sentence"]
    assert (user["equivalence"]["equivalent"], user["equivalence"]["attacks"]) == (1, 2)
    assert (user["equivalence"]["low"], user["equivalence"]["above"]) == (0.43, 0.60)


def test_a_row_with_hardly_any_examples_neither_makes_a_leak_nor_hides_one():
    few = verdict_row(0.7, 0.9, attack="harvested", n_members=4)
    found = threats([few, verdict_row(0.55, 0.7)], [])[0]
    assert (found["status"], found["worst"]["attack"]) == ("leak found", "reference")
    assert threats([few, verdict_row(0.47, 0.53)], [])[0]["status"] == "not resolved"


def test_what_the_base_model_shows_too_is_no_leak():
    base = {"value": 0.0, "low": -0.02, "high": 0.02}
    as_base = verdict_row(0.6, 0.8, attack="loss", over_base=base)
    assert threats([as_base], [])[0]["status"] == "not resolved"
    found = threats([as_base, verdict_row(0.55, 0.7)], [])[0]
    assert (found["status"], found["worst"]["attack"]) == ("leak found", "reference")


def test_a_confounded_row_leaks_by_what_it_adds_alone():
    over = {"value": 0.1, "low": 0.06, "high": 0.14}
    found = threats([verdict_row(0.6, 0.7, True, over_blind=over)], [])[0]
    assert found["status"] == "leak found" and "AUROC" not in found["sentence"]
    assert "over a classifier that saw no model, paired: +0.100 [+0.060, +0.140], corrected" in found["sentence"]


def told(shift, count, seed=0):
    """The verdict on the server's model for normal scores of a shift, one client, through the real rows."""
    rng = np.random.default_rng(seed)
    samples = {"c": lone(rng.normal(shift, 1, count), rng.normal(size=count))}
    rows = [Row("T0", "server", name, "answer", samples, headline=name == "a") for name in "ab"]
    ours = family({row.name: row.samples for row in rows}, rng)
    lines = [line(row, None, ours, rng, HOW) for row in rows]
    return samples["c"], ours, threats(lines, [])[0], sentences({"protocols": {"P1": {"rows": lines}}})[0]


def test_the_numbers_are_those_of_the_statistics():
    sample, ours, found, said = told(0.0, 3000)
    tost, least = equivalent([sample]), detectable([sample], ours.single)
    whole = found["equivalence"]
    assert (whole["low"], whole["high"]) == (tost.low, tost.high) and whole["detectable"] == least
    assert whole["above"] == ours.intervals["T0|server|a|answer"].high
    assert found["status"] == "no leak found"
    assert (
        f"above AUROC {whole['above']:.3f} at 95%, minimum detectable {least:.3f}: all 2 attacks" in found["sentence"]
    )
    assert "no leak found" in said and "(DeLong)" in said


@pytest.mark.parametrize(("shift", "count", "status"), [(0.5, 500, "leak found"), (0.0, 60, "not resolved")])
def test_a_leak_is_found_and_a_small_audit_resolves_nothing(shift, count, status):
    assert told(shift, count)[2]["status"] == status


def test_a_row_with_hardly_any_examples_is_no_reversed_score():
    few, enough = verdict_row(0.1, 0.3, attack="harvested", n_members=4), verdict_row(0.42, 0.58)
    found = threats([few, enough], [])[0]
    assert found["status"] == "not resolved"
    both = threats([few, enough, verdict_row(0.3, 0.45, attack="loss")], [])[0]
    assert both["status"] == "score reversed" and "the halves differ; not a clean result: loss" in both["sentence"]


def test_what_a_confounded_row_adds_is_held_to_the_correction_for_many_attacks_too():
    """An attack that adds a little to the blind classifier: by itself that is resolved, picked from forty it is not."""
    rng = np.random.default_rng(5)
    text = [rng.normal(shift, 1, 300) for shift in (0.5, 0)]
    sample, blind = lone(text[0] + rng.normal(0.2, 0.5, 300), text[1] + rng.normal(0, 0.5, 300)), lone(*text)
    noise = {f"n{i}": {"c": lone(*rng.normal(size=(2, 300)))} for i in range(40)}
    row = Row("T0", "server", "reference", "answer", {"c": sample})
    many = family({row.name: row.samples} | noise, rng)
    found = {name: line(row, {"c": blind}, ours, rng, HOW) for name, ours in (("one", None), ("many", many))}
    for name, level in (("one", 0.95), ("many", many.single)):
        over, meant = found[name]["over_blind"], two_level_difference([sample], [blind], level)
        assert found[name]["confounded"] and (over["low"], over["high"]) == (meant.low, meant.high)
    assert [threats([one], [])[0]["status"] for one in found.values()] == ["leak found", "confounded"]
