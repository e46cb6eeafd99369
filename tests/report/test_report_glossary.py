"""The words of an audit: explained where they are used, from the audit's own names."""

from audits import realistic

from fedrand.report.glossary import WORDS, entries, used
from fedrand.report.page import write_page
from fedrand.report.terminal import audit_table, explained


def test_only_the_terms_that_stand_in_a_text_are_explained():
    known = {"T3": "one", "T3+": "two", "span": "three", "Min": "four"}
    assert used(known, "T3+ by the span of A, minus") == ["T3+: two", "span: three"]
    assert used(known, "T3, Min-10%++, spanned") == ["T3: one", "Min: four"]


def test_adversaries_protocols_and_rungs_are_called_what_the_audit_calls_them():
    audit = {
        "threats": [{"id": "T9", "adversary": "a neighbour", "sees": "It sees the smoke."}],
        "ladder": [{"rung": "R7", "title": "a guess"}],
        "protocols": {"P1": {"title": "Members against others", "rows": []}},
    }
    known = entries(audit)
    assert known["T9"] == "a neighbour. It sees the smoke."
    assert known["R7"] == "estimate of a client's adapter: a guess"
    assert known["P1"] == "who is compared: Members against others"
    assert entries(None) == WORDS


def test_the_terminal_explains_the_words_of_its_table_and_the_page_all(world, tmp_path, read):
    world.audit = realistic()
    said = explained(entries(world.audit), audit_table(world.audit))
    assert "- AUROC: the chance that" in said
    assert "- T3: " in said
    assert "- P1: " in said
    assert "rung" not in said
    text = read(write_page(world.write(tmp_path / "run")).read_text()).text
    assert all(meaning in text for meaning in entries(world.audit).values())
