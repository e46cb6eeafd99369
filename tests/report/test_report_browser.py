"""The pages in a real browser: nothing fails, nothing overflows, everything can be read."""

import audits
import pytest
from browser import CHROMIUM, Browser

from fedrand.report.compare import compare
from fedrand.report.page import write_page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; `apt-get install chromium` brings one"),
]
WIDEST = """[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .grid, .heat, svg"))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
EMPTY_PICTURES = """[...document.querySelectorAll("svg:not(svg svg)")].filter(e => e.getClientRects().length || !e.closest(".far"))
    .filter(e => !(e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().height > 0))
    .map(e => e.getAttribute("aria-label"))"""
PALE = """(() => {
  const rgb = words => (words.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const v = c / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !e.getClientRects().length || e.closest("title, style")) continue;
    const style = getComputedStyle(e);
    const [a, b] = [luminance(rgb(e.closest("svg") ? style.fill : style.color)), luminance(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(ratio.toFixed(2) + " " + texts.currentNode.data.slice(0, 40) + " in " + e.outerHTML.slice(0, 60));
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(params=["real", "extreme", "first form", "comparison"])
def page(request, new_world, tmp_path):
    build = {"real": audits.realistic, "extreme": audits.extreme, "comparison": audits.realistic}.get(request.param)
    world = new_world()
    if build:
        world.audit = build()
    run = world.write(tmp_path / "run")
    if request.param == "comparison":
        compare([run, world.write(tmp_path / "other")], tmp_path / "out")
        return tmp_path / "out/compare.html"
    return write_page(run)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1200])
def test_a_page_opens_without_complaint_fits_and_can_be_read(browser, page, width, dark):
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(page, width=width, dark=dark)
    browser.js("document.querySelectorAll('details').forEach(e => e.open = true)")
    assert browser.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in browser.requests)
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.js(WIDEST) == []
    assert browser.js("document.querySelectorAll('svg').length") > 0
    assert browser.js(EMPTY_PICTURES) == []
    assert browser.js(PALE) == []


def test_the_numbers_that_a_browser_shows_are_those_of_the_audit(browser, new_world, tmp_path):
    world = new_world()
    world.audit = audits.realistic()
    browser.open(write_page(world.write(tmp_path / "run")))
    cells = browser.js("[...document.querySelectorAll('.heat td b')].map(e => parseFloat(e.textContent))")
    rows = [row["auroc"] for row in audits.rows() if row["auroc"] is not None]
    assert sorted(cells) == sorted(float(f"{value:.3f}") for value in rows)
    cards = browser.js("[...document.querySelectorAll('.threat')].map(e => e.innerText)")
    for card, threat in zip(cards, audits.threats(), strict=True):
        assert threat["adversary"] in card
        assert threat["worst"] is None or f"{threat['worst']['auroc']:.3f}" in card
