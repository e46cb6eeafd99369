import base64
import json
import re

import audits
import pytest

from fedrand.report.page import write_page
from fedrand.runfile import RunFolderError

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()


def html(world, folder):
    return write_page(world.write(folder / "run")).read_text(encoding="utf-8")


def test_the_figures_of_the_page_are_those_of_the_files(world, tmp_path, read):
    text = read(html(world, tmp_path)).text
    for shown in (
        "2.111",
        "1.222",
        "1.333 \N{PLUS-MINUS SIGN} 0.044",
        "1.444 \N{PLUS-MINUS SIGN} 0.033",
        "1.300",
        "1,234,567",
        "2,469,134",
        "2,530,866",
        "0.500 \N{MULTIPLICATION SIGN}",
        "0.555 [0.525, 0.585]",
        "0.618 [0.588, 0.648]",
        "0.491",
        "612 / 598",
        "0.432",
        "2.500",
    ):
        assert shown in text, shown


def test_the_page_names_the_settings_with_which_the_audit_is_made_again(world, tmp_path, read):
    world.recipe += "\n[audit]\nuploads = 4\nshadows = 2\n"
    world.audit["settings"] = {"uploads": 0, "shadows": 2}
    text = read(html(world, tmp_path)).text
    assert "fedrand audit run-again --set audit.uploads=0" in text and "settings.shadows" in text


def test_the_page_names_what_was_run_and_how_to_run_it_again(world, tmp_path, read):
    world.environment["recipe"] = {"train": {"rounds": 3}}
    reader = read(html(world, tmp_path))
    text = reader.text
    assert {"fedrand rho=0.5", "2 took part; 2 asked in each round"} <= set(reader.words)
    assert text.count("span, caption: no half was sent twice") == 1 and text.count("loss, caption: ") == 0
    assert "recipe.train.rounds" not in text
    for shown in (
        "seed 7",
        "9f2c",
        "fedrand 0.1.0, torch 2.13.0",
        "dirichlet(0.5)",
        "fedrand run run/recipe.toml --out run-again",
        "fedrand audit run-again",
        "clients_per_round = 2",
        "unweighted mean and standard deviation over the 2 clients",
        "LiRA with shadow clients",
        "no half was sent twice",
    ):
        assert shown in text, shown


def test_the_page_refers_to_nothing_outside_itself(world, tmp_path, read):
    world.results["samples"] = [{"id": "a", "image_png_base64": PNG, "reference": "r", "before": "b", "after": "c"}]
    page = html(world, tmp_path)
    assert not re.search(r"https?://|//[a-z]|url\(|@import", page)
    assert "arXiv 2503.07216" in page
    reader = read(page)
    assert not reader.all("script") and not reader.all("link")
    addresses = [a.get("src") or a.get("href") for tag in ("img", "a", "iframe") for a in reader.all(tag)]
    assert all(address and address.startswith(("#", "data:image/png;base64,")) for address in addresses)


def test_the_page_names_its_language_headings_and_pictures(world, tmp_path, read):
    reader = read(html(world, tmp_path))
    assert reader.all("html")[0]["lang"] == "en"
    assert len(reader.all("h1")) == 1
    assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in reader.all("svg"))
    ids = {heading.get("id") for tag in ("h2", "h3") for heading in reader.all(tag)}
    assert {link["href"] for link in reader.all("a")} <= {f"#{name}" for name in ids}


def test_each_cell_of_the_grid_says_what_its_client_sent(world, tmp_path):
    page = html(world, tmp_path)
    grid = page[page.index('<div class="grid"') : page.index("</table>", page.index('<div class="grid"'))]
    rows = {row[0]: row[1:] for row in (re.findall(r">([^<>]*)</t[hd]>", line) for line in grid.split("<tr>")) if row}
    assert rows["c00"] == ["A", "A", "B"]
    assert rows["c01"] == ["A", "B", "\N{MULTIPLICATION SIGN}"]
    assert rows["one sender"] == ["", "A B", "B"]
    assert rows["nobody sent"] == ["B", "", "A"]
    assert '<td class="A alone">A</td>' in grid
    assert 'title="refused: 3 values are NaN or Inf"' in grid


def test_a_client_refused_at_first_and_admitted_in_the_repetition_shows_what_it_sent(world, tmp_path, read):
    world.rounds[2]["refused"] = [{"client": "c00", "reason": "too late"}] * 25
    page = html(world, tmp_path)
    assert '<td class="B alone">B</td>' in page and "refused: too late" not in page
    assert "round 2, c00: too late" in read(page).words


def test_the_legend_explains_the_parts_that_were_sent_and_no_other(world, tmp_path, read):
    for row in world.rounds:
        row["clients"] = {name: {**sent, "sent": "all"} for name, sent in row["clients"].items()}
    text = read(html(world, tmp_path)).text
    assert "both halves" in text and "the A half" not in text


def test_without_an_audit_the_page_names_the_command_that_makes_one(world, tmp_path, read):
    world.audit = None
    text = read(html(world, tmp_path)).text
    assert f"fedrand audit {tmp_path / 'run'}" in text
    assert "P1" not in text


@pytest.mark.parametrize("empty", [{}, {"protocols": {}}, {"protocols": {"P1": {"rows": []}}, "not_tested": []}])
def test_an_empty_audit_is_told_as_such(world, tmp_path, read, empty):
    world.audit = empty
    text = read(html(world, tmp_path)).text
    assert "The audit holds no row of P1." in text
    assert "The audit does not say." in text


def test_missing_and_broken_figures_are_dashes(world, tmp_path, read):
    world.results["server"]["test"]["nll"] = None
    world.results["before"]["test"]["nll"] = None
    del world.results["clients"]["std"], world.results["bytes"]
    world.rounds[0]["clients"]["c00"]["loss_mean"] = None
    text = read(html(world, tmp_path)).text
    assert "\N{EN DASH} \N{RIGHTWARDS ARROW} \N{EN DASH}" in text
    assert "1.333 \N{PLUS-MINUS SIGN} \N{EN DASH}" in text
    assert re.findall(r"\bnan\b.*", text.lower()) == ["nan or inf"]


def test_a_run_that_holds_next_to_nothing_still_gives_a_page(tmp_path, read):
    run = tmp_path / "run"
    run.mkdir()
    least = {"method": "fedrand", "seed": 0, "rounds": 1, "server": {}, "clients": {}}
    (run / "results.json").write_text(json.dumps(least))
    (run / "metrics.jsonl").write_text('{"round": 0, "clients": {}}\n')
    text = read(write_page(run).read_text(encoding="utf-8")).text
    assert "No training loss was recorded." in text


def test_names_and_captions_stay_text(world, tmp_path, read):
    evil = "<script>alert(1)</script>\"' onload=x"
    world.results["clients"]["each"][evil] = world.results["clients"]["each"].pop("c00")
    world.rounds[0]["clients"][evil] = world.rounds[0]["clients"].pop("c00")
    world.rounds[2]["refused"] = [{"client": evil, "reason": evil}]
    world.results["method"] = evil
    world.environment["model"] = {"name": evil}
    world.audit["protocols"]["P1"]["rows"][0]["attack"] = evil
    world.audit["not_tested"] = [evil]
    world.results["samples"] = [
        {"id": evil, "image_png_base64": '"><script>', "reference": evil, "before": evil, "after": evil}
    ]
    page = html(world, tmp_path)
    assert "<script" not in page
    reader = read(page)
    assert evil in reader.words
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)


@pytest.mark.parametrize("data", ["not base64!", "!" + PNG, base64.b64encode(b"<svg onload=x>").decode(), None])
def test_only_a_png_becomes_a_picture(world, tmp_path, read, data):
    sample = {"id": "a", "reference": "r", "before": "b", "after": "c"}
    world.results["samples"] = [{**sample, "image_png_base64": data}, {**sample, "image_png_base64": PNG}]
    pictures = read(html(world, tmp_path)).all("img")
    assert [picture["src"] for picture in pictures] == [f"data:image/png;base64,{PNG}"]
    assert pictures[0]["alt"] == "test image a"


def test_one_client_in_one_round_is_a_lone_sender(world, tmp_path, read):
    world.rounds = [world.rounds[2] | {"refused": []}]
    page = html(world, tmp_path)
    assert '<td class="B alone">B</td>' in page
    read(page)


def test_the_grid_of_200_clients_and_1000_rounds_is_bounded_and_says_what_it_leaves_out(world, tmp_path, read):
    names = [f"c{index:03d}" for index in range(200)]
    sent = {"sent": "A", "num_examples": 5, "loss_mean": 1.0}
    world.rounds = [
        {"round": index, "clients": {names[(4 * index + k) % 200]: sent for k in range(4)}, "loss_mean": 1.0}
        for index in range(1000)
    ]
    page = html(world, tmp_path)
    assert "Shown: 60 of 200 clients that were asked, 120 of 1000 rounds. The rest is in ledger.csv." in page
    assert len(page) < 1_000_000
    read(page)


def test_the_page_never_claims_privacy(world, tmp_path, read):
    assert "private" not in read(html(world, tmp_path)).text.lower()


def test_the_page_replaces_the_old_one_whole(world, tmp_path):
    run = world.write(tmp_path / "run")
    (run / "report.html").write_text("old")
    old = (run / "report.html").open()
    write_page(run)
    assert old.read() == "old"
    old.close()
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in run.iterdir() if path.name.startswith(".")) == []


def test_a_run_without_results_gives_no_page(world, tmp_path):
    run = world.write(tmp_path / "run")
    (run / "results.json").unlink()
    with pytest.raises(RunFolderError, match=r"results\.json is missing; finish the run with: fedrand resume"):
        write_page(run)
    assert not (run / "report.html").exists()


def test_the_cards_show_each_worst_attack_corrected_for_all_attacks(world, tmp_path, read):
    world.audit = audits.realistic()
    world.audit["threats"][3]["worst"]["adjusted"] = [0.7673, 0.8573]
    words = read(html(world, tmp_path)).words
    assert "[0.767, 0.857] corrected gradient cosine, all uploads" in words
    assert "[0.801, 0.861] uncorrected FedMIA, all uploads" in words


def test_everyones_data_in_one_is_one_client_that_is_asked(world, tmp_path, read):
    world.recipe = world.recipe.replace('"fedrand"', '"centralised"').replace("rho = 0.5\n", "")
    assert "2 took part; 1 asked in each round" in read(html(world, tmp_path)).words


@pytest.mark.parametrize(
    ("kind", "words"),
    [("lora", "LoRA of rank 4"), ("hadamard", "elementwise product of two pairs (hadamard), each of rank 4")],
)
def test_the_adapter_is_named_by_its_kind(world, tmp_path, read, kind, words):
    world.recipe += f'[adapter]\nkind = "{kind}"\nrank = 4\n'
    assert f"{words} on the language model" in read(html(world, tmp_path)).words


def test_who_sent_nothing_is_not_said_to_have_stayed_away(world, tmp_path, read):
    world.audit |= {"absent": ["c09"], "silent": ["c00", "c01"]}
    text = read(html(world, tmp_path)).text
    assert "Never took part, so not attacked: c09." in text
    assert "Took part, but no upload of theirs was taken, so not attacked: c00, c01." in text
