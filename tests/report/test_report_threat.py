import audits
import pytest

from fedrand.report.finding import findings
from fedrand.report.threat import strongest, threats


def audit_with(row=None, worst=None, **entry):
    """One adversary whose worst attack is the row."""
    audit = audits.realistic()
    rows = [audits.row("T3", "client", "loss", "answer", 0.6, **(row or {}))]
    top = audits.worst("client", "loss", "answer", 0.6, None) | (worst or {})
    audit["protocols"]["P1"]["rows"] = rows
    audit["threats"] = [{"id": "T3", "adversary": "a", "tested": True, "worst": top, **entry}]
    return audit


@pytest.mark.parametrize(
    ("row", "worst", "status"),
    [
        ({}, {}, "leak found"),
        ({"adjusted": [0.49, 0.7]}, {}, "not resolved"),
        ({"adjusted": None}, {}, "leak found"),
        ({"over_base": audits.difference(0.01, 0.02)}, {}, "not resolved"),
        ({"confounded": True, "over_blind": audits.difference(0.01, 0.02)}, {}, "confounded"),
        ({"confounded": True, "over_blind": None}, {}, "confounded"),
        ({"confounded": True, "over_blind": audits.difference(0.05, 0.02)}, {}, "leak found"),
        ({"adjusted": [0.3, 0.48]}, {"auroc": 0.4, "low": 0.35, "high": 0.45}, "score reversed"),
    ],
)
def test_the_status_claims_a_leak_only_after_correction_and_beyond_the_controls(row, worst, status):
    (found,) = threats(audit_with(row, worst))
    assert found.status == status


def test_without_its_row_a_worst_attack_is_read_by_its_own_interval():
    (found,) = threats(audit_with(worst={"attack": "unheard of"}))
    assert (found.worst.row, found.status) == (None, "leak found")


@pytest.mark.parametrize(("tested", "status"), [(True, "no figure"), (False, "not tested")])
def test_without_a_worst_attack_nothing_is_claimed(tested, status):
    (found,) = threats(audit_with(tested=tested) | {"threats": [{"id": "T1", "tested": tested}]})
    assert found.status == status
    assert "leak" not in found.reading


def test_a_reading_without_a_leak_says_what_is_not_ruled_out():
    (found,) = threats(audit_with({"adjusted": [0.49, 0.7]}))
    assert (
        found.reading == "Not resolved: loss, answer, AUROC 0.600 [0.570, 0.630]; a leak up to 0.630 is not ruled out."
    )


def test_the_audits_own_sentence_comes_before_ours():
    (found,) = threats(audit_with(sentence="As the audit says."))
    assert found.reading == "As the audit says."


def test_an_epsilon_names_its_guesses():
    (found,) = threats(audit_with(epsilon={"low": 1.63082, "level": 0.95, "guesses": 100, "correct": 90}))
    assert found.epsilon == "1.631 at 95%: 90 of 100 guesses right"


def test_the_strongest_adversary_is_one_that_exists():
    found = threats(audits.realistic())
    assert strongest(found).id == "T3+"
    assert strongest([threat for threat in found if threat.id in ("Tinf", "T1")]) is None


def test_a_rate_is_a_figure_or_a_refusal():
    row = findings(audits.realistic(), "P1")[1]
    assert row.rate("0.05") == "0.131 [0.101, 0.161]"
    assert row.rate("0.001").startswith("refused: 598 non-members")
    assert row.rate("0.2") == "\N{EN DASH}"


def test_an_audit_of_the_first_form_has_no_verdict_per_threat_model(world):
    assert threats(world.audit) == []
