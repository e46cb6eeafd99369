"""Every row of every protocol: a dot and an interval, grouped by adversary and model."""

from collections.abc import Mapping

from fedrand.report.amounts import MISSING, count, number, pick, plain
from fedrand.report.charts import auroc_axis, auroc_ticks, interval
from fedrand.report.finding import Finding, findings
from fedrand.report.leakage import groups, subject, verdict
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, part, table
from fedrand.report.svg import Scale

COLUMNS = ("", "plot", "", "extra given", "extra base", "extra size")
OPEN_GROUPS = 6
TITLES = {
    "P1": "members against held-out items of the same client",
    "P0": "the paper's protocol, in-domain against out-of-domain",
    "P2": "other clients' training data as non-members",
    "P4": "scores before any training: every interval should cover 0.5",
}
BANNERS = {"P0": "Members and non-members come from different domains: such an AUROC also measures the domain shift."}


def protocols(audit: Json) -> list[Markup]:
    """P1 with a sentence per model, always; the others where the audit has rows."""
    return [_headline(audit), *(_other(name, audit) for name in TITLES if name != "P1" and findings(audit, name))]


def _title(name: str, audit: Json) -> str:
    words = plain(pick(audit, "protocols", name, "title") or TITLES[name])
    return words[:1].upper() + words[1:]


def _headline(audit: Json) -> Markup:
    rows = findings(audit, "P1")
    if not rows:
        return part("P1", _title("P1", audit), element("p", "The audit holds no row of P1.", class_="note"), name="p1")
    found = groups(rows)
    told = [] if audit.get("threats") else [_sentences(found)]  # the verdict per threat model says it better
    return part("P1", _title("P1", audit), *told, _key(rows), *_forests(found, rows, audit), name="p1")


def _sentences(found: Mapping[tuple[str, str], list[Finding]]) -> Markup:
    items = [
        element("li", element("strong", f"{subject(model)}, {threat}: "), verdict(rows))
        for (threat, model), rows in found.items()
    ]
    return element("ul", *items, class_="verdict")


def _other(name: str, audit: Json) -> Markup:
    rows = findings(audit, name)
    banner = pick(audit, "protocols", name, "banner") or BANNERS.get(name)
    warning = [element("p", plain(banner), class_="banner", role="note")] if banner else []
    return part(name, _title(name, audit), *warning, *_forests(groups(rows), rows, audit), name=name.lower())


def _forests(found: Mapping[tuple[str, str], list[Finding]], rows: list[Finding], audit: Json) -> list[Markup]:
    scale = auroc_axis(rows)
    return [
        folded(
            f"{subject(model)}, {threat}: {len(own)} {'attack' if len(own) == 1 else 'attacks'}",
            _forest(own, scale, audit),
            *_inapplicable(own),
            *_per_client(own, audit),
            open_=index < OPEN_GROUPS and not audit.get("threats"),
        )
        for index, ((threat, model), own) in enumerate(found.items())
    ]


def _forest(rows: list[Finding], scale: Scale, audit: Json) -> Markup:
    able = [row for row in rows if row.auroc is not None]
    lines = [
        (
            row.name,
            interval(row, scale),
            _figure(row),
            _given(row),
            number(row.base),
            f"{count(row.members)} / {count(row.others)}",
        )
        for row in able
    ]
    level = f"{able[0].level:.0%}" if able else MISSING
    caption = (
        f"AUROC with {level} interval over clients and items, then, these very models given, over items alone (DeLong); seed "
        f"{plain(audit.get('seed'))}"
    )
    headings = (
        "attack",
        auroc_ticks(scale),
        f"AUROC [{level}]",
        "models given",
        "base model",
        "members / others",
    )
    return table(headings, lines, caption=caption, class_="forest", columns=COLUMNS)


def _figure(row: Finding) -> Markup:
    mark = " \N{DOUBLE DAGGER}" if row.confounded else ""
    return element("span", row.text + mark, class_="above" if row.leaks else None)


def _given(row: Finding) -> str:
    return row.fixed.text if row.fixed else MISSING


def _inapplicable(rows: list[Finding]) -> list[Markup]:
    items = [element("li", f"{row.name}: {row.reason}") for row in rows if row.auroc is None]
    return [element("p", "Without a figure:", class_="note"), element("ul", *items, class_="note")] if items else []


def _per_client(rows: list[Finding], audit: Json) -> list[Markup]:
    names = sorted({name for row in rows for name in row.per_client})
    lines = [(row.name, *(number(row.per_client.get(name)) for name in names)) for row in rows if row.per_client]
    if not lines:
        return []
    caption = f"AUROC within each client, no interval, seed {plain(audit.get('seed'))}"
    return [folded("Client by client", table(("attack", *names), lines, caption=caption))]


def _key(rows: list[Finding]) -> Markup:
    def key(mark: Markup) -> Markup:
        return element("svg", mark, class_="key", aria_hidden="true")

    thin = "" if not any(row.adjusted for row in rows) else "Thin: the interval for all attacks together. "
    words = (
        key(element("circle", cx=9, cy=7, r=4, class_="dot")),
        " measured. ",
        key(element("rect", x=5, y=3, width=8, height=8, class_="leak dot")),
        " a leak: the interval lies wholly above 0.5 and the base model. ",
        key(element("circle", cx=9, cy=7, r=4.5, class_="hollow")),
        f" base model, LoRA off. {thin}Dashed: 0.5. \N{DOUBLE DAGGER} confounded.",
    )
    return element("p", *words, class_="note")
