"""Quality before and after, on the server and on the clients."""

from fedrand.report.amounts import SCALE_NOTE, pick, plain, score
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, section, table
from fedrand.report.quality import HEADINGS, SPLITS, caption_rows, choice_rows, described

EACH = {"nll": "NLL", "exact": "exact match", "cider_d": "CIDEr-D"}


def quality(results: Json) -> Markup:
    """A table per split, multiple choice, and each client by itself."""
    tables = [
        table(HEADINGS, [(row.label, *row.values) for row in rows], caption=f"Split {label}; {_sizes(results, split)}")
        for split, label in SPLITS.items()
        if (rows := caption_rows(results, split))
    ]
    if choices := choice_rows(results):
        caption = f"Multiple choice by log p of the answers, PMI: minus log p without the image; {_questions(results)}"
        tables.append(table(HEADINGS, [(row.label, *row.values) for row in choices], caption=caption))
    note = (
        f"Every figure is of {described(results)}. NLL is in nats per answer token, lower is better; of all others higher "
        f"is better. {SCALE_NOTE}"
    )
    return section("Quality", element("p", note, class_="note"), *tables, _each(results), name="quality")


def _sizes(results: Json, split: str) -> str:
    figures = pick(results, "server", split)
    return (
        f"NLL over {plain(pick(figures, 'nll_n'))} tokens of {plain(pick(figures, 'n'))} items, captions of "
        f"{plain(pick(figures, 'captions_n') or pick(figures, 'n'))} by the server's model and of "
        f"{plain(pick(results, 'clients', 'mean', split, 'captions_n'))} by each client's"
    )


def _questions(results: Json) -> str:
    kinds = pick(results, "server", "qa")
    sizes = [f"{kind}: {plain(pick(kinds, kind, 'n'))} questions" for kind in kinds] if isinstance(kinds, dict) else []
    return ", ".join(sizes)


def _each(results: Json) -> Markup:
    each = pick(results, "clients", "each")
    if not isinstance(each, dict) or not each:
        return element("p", "No figures of single clients.", class_="note")
    rows = [
        (name, *(score(metric, pick(figures, "test", metric)) for metric in EACH)) for name, figures in each.items()
    ]
    caption = "Each client's own last model on the split test"
    return folded(f"Each of {len(rows)} clients", table(("client", *EACH.values()), rows, caption=caption))
