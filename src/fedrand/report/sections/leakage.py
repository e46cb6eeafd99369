"""What the audit found: a verdict, a dot and an interval for every attack, and what was not tested."""

from collections.abc import Mapping
from pathlib import Path

from fedrand.report.amounts import MISSING, count, number, pick, plain
from fedrand.report.charts import auroc_axis, auroc_ticks, interval
from fedrand.report.leakage import SUBJECTS, Finding, findings, groups, verdict
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, join, section, table
from fedrand.report.svg import Scale

COLUMNS = ("", "plot", "", "extra base", "extra size")
OPEN_GROUPS = 6
INTRODUCTION = (
    "Each attack scores items that were trained on (members) and items that were not. AUROC is the chance that a "
    "member scores higher: 0.5 is a coin. These are measurements of the attacks listed, not a guarantee against others."
)


def leakage(audit: Json | None, run: Path) -> Markup:
    """The whole section; without an audit it names the command that makes one."""
    if audit is None:
        words = join(["Not audited yet: ", element("code", f"fedrand audit {run}"), " makes this section."])
        return section("What leaks", element("p", words), name="leakage")
    parts = [element("p", INTRODUCTION), _key(), *_headline(audit), *_paper(audit), *_untested(audit)]
    return section("What leaks", *parts, name="leakage")


def _headline(audit: Json) -> list[Markup]:
    rows = findings(audit, "P1")
    title = element("h3", "P1: members against held-out items of the same client")
    if not rows:
        return [title, element("p", "The audit holds no row of P1.", class_="note")]
    found = groups(rows)
    sentences = [
        element("li", element("strong", f"{_subject(model)}, {threat}: "), verdict(part))
        for (threat, model), part in found.items()
    ]
    return [title, element("ul", *sentences, class_="verdict"), *_forests(found, rows, audit)]


def _paper(audit: Json) -> list[Markup]:
    rows = findings(audit, "P0")
    if not rows:
        return []
    banner = pick(audit, "protocols", "P0", "banner") or (
        "Members and non-members come from different domains: such an AUROC also measures the domain shift."
    )
    title = element("h3", "P0: the paper's protocol, in-domain against out-of-domain")
    return [title, element("p", plain(banner), class_="banner", role="note"), *_forests(groups(rows), rows, audit)]


def _forests(found: Mapping[tuple[str, str], list[Finding]], rows: list[Finding], audit: Json) -> list[Markup]:
    scale = auroc_axis(rows)
    return [
        folded(
            f"{_subject(model)}, {threat}: {len(part)} attacks",
            _forest(part, scale, audit),
            *_inapplicable(part),
            *_per_client(part, audit),
            open_=index < OPEN_GROUPS,
        )
        for index, ((threat, model), part) in enumerate(found.items())
    ]


def _forest(part: list[Finding], scale: Scale, audit: Json) -> Markup:
    able = [row for row in part if row.auroc is not None]
    lines = [
        (row.name, interval(row, scale), _figure(row), number(row.base), f"{count(row.members)} / {count(row.others)}")
        for row in able
    ]
    level = f"{able[0].level:.0%}" if able else MISSING
    caption = f"AUROC with {level} interval over clients and items, seed {plain(audit.get('seed'))}"
    headings = ("attack", auroc_ticks(scale), f"AUROC [{level}]", "base model", "members / others")
    return table(headings, lines, caption=caption, class_="forest", columns=COLUMNS)


def _figure(row: Finding) -> Markup:
    return element("span", row.text, class_="above" if row.leaks else None)


def _inapplicable(part: list[Finding]) -> list[Markup]:
    items = [element("li", f"{row.name}: {row.reason}") for row in part if row.auroc is None]
    return [element("p", "Without a figure:", class_="note"), element("ul", *items, class_="note")] if items else []


def _per_client(part: list[Finding], audit: Json) -> list[Markup]:
    names = sorted({name for row in part for name in row.per_client})
    rows = [(row.name, *(number(row.per_client.get(name)) for name in names)) for row in part if row.per_client]
    if not rows:
        return []
    caption = f"AUROC within each client, no interval, seed {plain(audit.get('seed'))}"
    return [folded("Client by client", table(("attack", *names), rows, caption=caption))]


def _key() -> Markup:
    dot = element("svg", element("circle", cx=9, cy=7, r=4, class_="dot"), class_="key", aria_hidden="true")
    square = element(
        "svg", element("rect", x=5, y=3, width=8, height=8, class_="leak dot"), class_="key", aria_hidden="true"
    )
    hollow = element("svg", element("circle", cx=9, cy=7, r=4.5, class_="hollow"), class_="key", aria_hidden="true")
    words = (
        dot,
        " measured. ",
        square,
        " interval wholly above 0.5 and the base model. ",
        hollow,
        " base model, LoRA off. Dashed: 0.5.",
    )
    return element("p", *words, class_="note")


def _untested(audit: Json) -> list[Markup]:
    missing = audit.get("not_tested")
    items = [element("li", plain(item)) for item in missing] if isinstance(missing, list) else []
    body = element("ul", *items) if items else element("p", "The audit does not say.", class_="note")
    return [element("h3", "What was not tested"), body]


def _subject(model: str) -> str:
    words = SUBJECTS.get(model, model)
    return words[:1].upper() + words[1:]
