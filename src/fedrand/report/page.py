"""report.html: one run on one page that loads nothing from anywhere."""

from pathlib import Path

from fedrand.report.amounts import plain
from fedrand.report.glossary import entries
from fedrand.report.load import audit_read, read_audit, read_environment, read_recipe, read_results, read_rounds
from fedrand.report.markup import Markup, element
from fedrand.report.sections.glossary import glossary
from fedrand.report.sections.leakage import leakage
from fedrand.report.sections.overview import cards, overview
from fedrand.report.sections.provenance import provenance
from fedrand.report.sections.quality import quality
from fedrand.report.sections.rounds import rounds_section
from fedrand.report.sections.samples import samples
from fedrand.report.sections.traffic import traffic
from fedrand.report.theme import page
from fedrand.tensorfile import write_atomic

LINKS = {
    "run": "What was run",
    "quality": "Quality",
    "leakage": "What leaks",
    "rounds": "Rounds",
    "bytes": "Bytes",
    "provenance": "Provenance",
    "words": "Words",
}


def write_page(run: Path) -> Path:
    """Write report.html of the folder `run` and return its path; ReportError when results or rounds cannot be read."""
    results, audit = read_results(run), read_audit(run)
    environment, (recipe, tables) = read_environment(run), read_recipe(run)
    title = f"fedrand: {run.resolve().name}, {plain(results.get('method'))}, seed {plain(results.get('seed'))}"
    with audit_read(run):
        shown, leaks, words = cards(results, audit), leakage(audit, run), glossary(entries(audit))
    parts = [
        element("header", element("h1", title), _links()),
        shown,
        overview(results, environment, tables),
        quality(results),
        leaks,
        rounds_section(read_rounds(run)),
        traffic(results),
        samples(results),
        provenance(run.resolve(), results, audit, environment, recipe, tables),
        words,
    ]
    path = run / "report.html"
    write_atomic(path, page(title, *(part for part in parts if part is not None)))
    return path


def _links() -> Markup:
    return element(
        "nav", *(element("a", words, href=f"#{name}") for name, words in LINKS.items()), aria_label="sections"
    )
