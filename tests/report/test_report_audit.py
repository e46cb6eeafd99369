"""The audit's second form on the page: every figure as in the file, every part there or named as not run."""

import math
import re

import audits
import pytest

from fedrand.report.page import write_page
from fedrand.report.sections.leakage import PARTS
from fedrand.report.svg import Scale

HEADINGS = {place.kind: place.name for place in PARTS}


def page(world, folder, audit):
    world.audit = audit
    return write_page(world.write(folder / "run")).read_text(encoding="utf-8")


@pytest.fixture
def real(world, tmp_path, read):
    return read(page(world, tmp_path, audits.realistic()))


def shown(value, digits=3):
    return f"{value:.{digits}f}"


def interval(entry, digits=3):
    return f"{entry['auroc']:.{digits}f} [{entry['low']:.{digits}f}, {entry['high']:.{digits}f}]"


def test_every_part_of_a_whole_audit_is_on_the_page_and_none_is_called_missing(real):
    assert set(HEADINGS.values()) <= set(real.parts)
    assert "absent" not in real.parts
    links = {link["href"] for link in real.all("a")}
    assert {f"#{name}" for name in HEADINGS.values()} <= links


@pytest.mark.parametrize("kind", HEADINGS)
def test_a_part_that_was_not_run_is_named_as_such(world, tmp_path, read, kind):
    keys = {"Verdict per threat model": "threats", "Scores of members and others": "histograms", "ROC curves": "roc"}
    keys |= {"Controls": "controls", "Leak over rounds": "rounds", "Reconstruction ladder": "ladder"}
    keys |= {"What the server knew": "knowledge", "Lone senders": "singletons", "Most exposed records": "exposed"}
    keys |= {"Token entropies": "entropy", "Protections": "protections"}
    audit = audits.realistic()
    if kind == "Canaries":
        del audit["protocols"]["P3"]
    elif kind == "Attacks by threat model":
        audit["protocols"]["P1"]["rows"] = []
    else:
        del audit[keys[kind]]
    reader = read(page(world, tmp_path, audit))
    assert f"{kind}: not run" in reader.under("absent")
    assert HEADINGS[kind] not in reader.parts
    assert f"#{HEADINGS[kind]}" not in {link["href"] for link in reader.all("a")}


def test_an_audit_of_the_first_form_still_shows_its_rows_and_names_all_that_it_lacks(world, tmp_path, read):
    reader = read(page(world, tmp_path, world.audit))
    assert "0.555 [0.525, 0.585]" in reader.under("p1")
    assert "picked as the clearest of 2, not corrected" in reader.under("p1")
    assert reader.under("absent").count(": not run") == len(PARTS) - 1  # the heat map has its rows


def test_each_threat_model_shows_its_worst_attack_as_the_audit_wrote_it(real):
    text = real.under("verdict")
    for threat in audits.threats():
        assert f"{threat['id']}, {threat['adversary']}" in text
        assert threat["sees"] in text
        if worst := threat["worst"]:
            assert interval(worst) in text
            assert f"{worst['attack']}, {worst['slice']}" in text
    assert "refused: 598 non-members allow 0.6 false positives, 10 are needed" in text
    assert "0.702 at 95%: 75 of 100 guesses right" in text
    assert "[0.767, 0.857]" in text  # the interval for all attacks together
    assert text.count("AUROC 0.541 by each of 11 attacks") == 5
    assert "[0.787, 0.837], p = 0.012 (DeLong)" in text  # the models given
    assert text.count("not run: no canaries against this adversary") == 6
    assert "14 attacks at once (max-T at 0.95, critical value 2.71)" in text


@pytest.mark.parametrize(
    ("status", "whole", "shown"),
    [
        ("not resolved", {}, "not shown: 9 of 11 attacks within 0.05 (TOST at 95%: 0.471 to 0.553)"),
        ("no leak found", {"equivalent": 11}, "shown: 11 of 11 attacks within 0.05 (TOST at 95%: 0.471 to 0.553)"),
    ],
)
def test_without_a_leak_the_page_says_whether_equivalence_is_shown_and_what_would_have_been_seen(
    world, tmp_path, read, status, whole, shown
):
    audit = audits.realistic()
    audit["threats"] = [{**audits.threats()[0], "status": status, "equivalence": audits.together(**whole)}]
    text = read(page(world, tmp_path, audit)).under("verdict")
    assert f"Verdict per threat model {status.capitalize()}; of the surest attacks the highest AUROC is 0.654" in text
    assert f"Like a coin {shown}" in text and "Not ruled out an AUROC up to 0.571" in text
    assert "Minimum detectable AUROC 0.541 by each of 11 attacks" in text


def test_an_audit_of_the_second_form_never_says_that_there_is_no_leak(world, tmp_path, read):
    audit = audits.realistic()
    (audit["version"], threat) = 2, audit["threats"][0]
    del threat["status"], threat["equivalence"]
    audit["protocols"]["P1"]["rows"][1]["adjusted"] = [0.48, 0.56]
    audit["threats"] = [threat]
    text = read(page(world, tmp_path, audit)).under("verdict")
    assert "? not resolved" in text and "no leak" not in text.lower()
    assert "Minimum detectable AUROC 0.532, by the worst attack" in text


def test_the_title_of_the_verdict_names_the_strongest_adversary_and_never_the_oracle(world, tmp_path, read):
    audit = audits.realistic()
    audit["threats"][-1]["worst"]["auroc"] = 0.99
    text = read(page(world, tmp_path, audit)).under("verdict")
    assert "T3+ (curious server, all clients) tells members best: AUROC 0.831 [0.801, 0.861]" in text


def words(markup):
    return re.sub(r"<[^>]+>", " ", markup).split()


def cells(markup):
    """The heat map's rows as lists of words."""
    table = markup[markup.index('class="heat"') :]
    body = table[table.index("<tbody>") : table.index("</tbody>")]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in body.split("<tr>")]
    return {" ".join(words(row[0])): [words(cell) for cell in row[1:]] for row in rows if row}


def test_every_cell_of_the_heat_map_holds_its_number_or_says_why_not(world, tmp_path):
    found = cells(page(world, tmp_path, audits.realistic()))
    dash = ["\N{EN DASH}"]
    # columns: T0 server, T2 server, T3 client, T3 update, T3+ update, T4 update, Tinf oracle, control base
    assert found["loss, answer"] == [
        ["0.551*", "[0.52,", "0.58]"],
        dash,
        ["0.588*", "[0.56,", "0.62]"],
        dash,
        dash,
        dash,
        ["0.638*", "[0.61,", "0.67]"],
        ["0.507", "[0.48,", "0.54]"],
    ]
    assert found["zlib, answer"][2][0] == "0.664\N{DOUBLE DAGGER}"
    assert found["FedMIA, all uploads"][3:5] == [["n/a", "1"], ["0.831*", "[0.80,", "0.86]"]]
    assert found["Min-K%++ 20%, answer"][0][0] == "0.529"


def test_what_does_not_apply_is_told_in_a_footnote_and_what_is_confounded_by_its_difference(real):
    text = real.under("attacks")
    assert "fewer than 2 others sent the same half" in text and "no half was sent twice" in text
    assert "zlib, answer: AUROC over the blind classifier 0.011 [-0.009, 0.031]" in text
    assert "8 of 11 attacks show a leak; 1 confounded" in text


def test_the_other_parts_show_the_files_figures(real):
    audit = audits.realistic()
    for control in audit["controls"].values():
        assert interval(control) in real.under("controls")
    for rung in audit["ladder"]:
        assert interval(rung) in real.under("ladder") and shown(rung["distance"]) in real.under("ladder")
    for upload in audit["rounds"]:
        assert f"{upload['round']} {upload['client']} {interval(upload)}" in real.under("over-rounds")
    for entry in audit["exposed"]:
        line = f"{entry['client']} {entry['id']} {entry['attack']} {entry['score']:.4f} {entry['rank']}"
        assert line in real.under("exposed")
    for sample in audit["entropy"]:
        for token, value in zip(sample["tokens"], sample["entropies"], strict=True):
            assert f"{token} {value:.2f}" in real.under("entropy")
    for at, f in enumerate(audit["roc"][0]["fpr"]):
        curve = {name: audit["roc"][0][name][at] for name in ("tpr", "low", "high")}
        figure = interval({"auroc": curve["tpr"], "low": curve["low"], "high": curve["high"]})
        assert f"{f:.6g} {figure}" in real.under("roc")
    assert "0.702" in real.under("canaries") and "200 canaries" in real.under("canaries")
    assert "2 A c02 yes" in real.under("singletons")


def test_the_titles_state_what_the_data_show(real):
    assert "12 of 24 uploads (50%)" in real.under("knowledge")
    assert "0.742 after a switch of halves (12), 0.657 without (12), 0.785 lone senders (2)" in real.under(
        "over-rounds"
    )
    assert "R4 leaks most: AUROC 0.719 [0.689, 0.749] at distance 0.399" in real.under("ladder")
    assert "1 of 3 controls miss 0.5: blind text" in real.under("controls")
    assert "At 1% false positives, T3 gradient cosine, all uploads finds 0.041" in real.under("roc")
    assert "2 of 2 halves with a single sender were read off" in real.under("singletons")
    assert "member-17 of c03 stands out most: on top for 2 attacks" in real.under("exposed")
    assert "The member's tokens are surer: 0.83 nats on average, the other's 2.22" in real.under("entropy")
    assert "No formal guarantee" in real.under("protections")


def test_the_overlap_of_two_histograms_is_the_shared_mass(world, tmp_path, read):
    audit = audits.realistic()
    audit["histograms"] = [audits.histogram("T3", "client", "reference", "answer", 1.0, blind=False)]
    audit["histograms"][0].update(edges=[0, 1, 2], members=[1, 3], others=[20, 20])
    text = read(page(world, tmp_path, audit)).under("scores")
    assert "overlap by 75%" in text and "0 to 1 0.250 0.500" in text


@pytest.mark.parametrize(("value", "step"), [(3.0, 3), (2.999, 2), (2.0, 2), (1.0, 1), (0.999, 0), (-0.1, 0)])
def test_a_token_is_coloured_by_the_papers_bins(world, tmp_path, value, step):
    audit = audits.realistic()
    audit["entropy"][0].update(tokens=["word"], entropies=[value])
    assert f'class="e e{step}" title="word: {value:.3f} nats"' in page(world, tmp_path, audit)


def upload_chart(markup):
    drawn = markup[markup.index('id="over-rounds"') :]
    return drawn[drawn.index('class="time"') : drawn.index("</figure>")]


def test_the_upload_chart_marks_switches_and_lone_senders(world, tmp_path):
    whole = page(world, tmp_path, audits.realistic())
    drawn = upload_chart(whole)
    entries = audits.leak_of_uploads()
    assert drawn.count('class="leak dot"') == sum(entry["switched"] for entry in entries)
    assert drawn.count('class="ring"') == sum(entry["alone"] for entry in entries) == 2
    assert drawn.count('class="whisker"') == len(entries)


def test_the_uploads_of_a_long_run_are_bounded_and_what_is_left_out_is_told(world, tmp_path, read):
    audit = audits.realistic()
    one = audit["rounds"][0]
    audit["rounds"] = [{**one, "client": f"c{place}", "round": turn} for turn in range(1000) for place in range(4)]
    markup = page(world, tmp_path, audit)
    assert upload_chart(markup).count('class="whisker"') == 480
    text = read(markup).under("over-rounds")
    assert "Drawn and listed: the newest 480 of 4000 uploads. The rest is in audit.json." in text
    assert "0.700 after a switch of halves (4000)" in text


@pytest.mark.parametrize("build", [audits.realistic, audits.extreme])
def test_the_page_never_calls_a_result_private_and_loads_nothing(world, tmp_path, read, build):
    markup = page(world, tmp_path, build())
    assert "private" not in markup.lower()
    assert "<script" not in markup
    assert not any(word in markup for word in ("http:", "https:", "url(", "@import"))
    read(markup)


def test_an_audit_at_which_a_page_could_break_is_shown_with_its_gaps(world, tmp_path, read):
    reader = read(page(world, tmp_path, audits.extreme()))
    assert audits.EVIL in reader.words
    for kind in ("Controls", "ROC curves", "Reconstruction ladder", "Canaries"):
        assert f"{kind}: not run" in reader.under("absent")
    assert "No attack gave a figure" in reader.under("attacks")
    assert "No half had a single sender" in reader.under("singletons")
    assert "Epsilon is at most 8.082 for the one client" in reader.under("protections")
    assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in reader.all("svg"))


@pytest.mark.parametrize(
    "name", ["roc", "histograms", "rounds", "ladder", "entropy", "exposed", "singletons", "threats"]
)
def test_an_empty_part_is_no_error(world, tmp_path, read, name):
    read(page(world, tmp_path, audits.realistic() | {name: []}))


@pytest.mark.parametrize("name", ["controls", "knowledge", "protections", "protocols", "family"])
def test_an_empty_table_is_no_error(world, tmp_path, read, name):
    read(page(world, tmp_path, audits.realistic() | {name: {}}))


def test_the_curve_the_coin_and_the_border_of_what_can_be_read_lie_where_the_log_axes_say(world, tmp_path):
    audit = audits.realistic()
    audit["roc"] = [
        audit["roc"][0] | {"fpr": [0.01, 0.1, 1], "tpr": [0.02, 0.2, 1], "low": [0.01] * 3, "high": [1] * 3}
    ]
    markup = page(world, tmp_path, audit)
    drawn = markup[markup.index('id="roc"') :]
    curve = re.findall(r"[\d.]+", re.search(r'<path d="([^"]+)" class="mean">', drawn)[1])
    x, y = Scale(-2, 0, 46, 300), Scale(-2, 0, 246, 10)
    points = [(x(math.log10(f)), y(math.log10(t))) for f, t in ((0.01, 0.02), (0.1, 0.2), (1, 1))]
    assert [float(value) for value in curve] == pytest.approx(sum(points, ()), abs=0.01)
    border = re.search(r'<line x1="([^"]+)"[^>]*class="border">', drawn)[1]
    assert float(border) == pytest.approx(x(math.log10(10 / 598)), abs=0.01)


@pytest.mark.parametrize(("auroc", "step"), [(0.5499, 0), (0.55, 1), (0.6, 2), (0.7, 3), (0.8, 4), (0.9, 5), (0.3, 0)])
def test_a_cell_is_coloured_from_the_edge_of_its_bin_on(world, tmp_path, auroc, step):
    audit = audits.realistic()
    audit["protocols"]["P1"]["rows"] = [audits.row("T3", "client", "loss", "answer", auroc)]
    assert f'<td class="h{step}" ' in page(world, tmp_path, audit)


def test_a_cell_of_the_knowledge_grid_says_what_was_sent_and_what_is_known_of_the_rest(world, tmp_path):
    audit = audits.realistic()
    rests = [("all", "none", None), ("A", "exact", None), ("B", "stale", 3), ("A", "unknown", None)]
    entries = [{"round": turn, "sent": sent, "rest": rest, "age": age} for turn, (sent, rest, age) in enumerate(rests)]
    audit["knowledge"] = {"uploads": 4, "start_known": 2, "clients": {"c00": entries}}
    markup = page(world, tmp_path, audit)
    grid = markup[markup.index('id="knowledge"') :]
    found = re.findall(r'<td class="(\w+)" title="[^"]*">([^<]*)</td>', grid[: grid.index("</section>")])
    minus = "\N{MINUS SIGN}"
    assert found == [("known", "AB"), ("known", "A="), ("guessed", f"B{minus}3"), ("hidden", "A?")]
