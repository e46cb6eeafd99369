"""Loss over rounds, and who sent which half when."""

from collections.abc import Sequence

from fedrand.report.amounts import MISSING, number
from fedrand.report.charts import losses
from fedrand.report.load import Round
from fedrand.report.markup import Markup, element, folded, join, scrolling, section, table

MOST_CLIENTS, MOST_ROUNDS, MOST_REASONS = 60, 120, 20
LETTERS = {"A": "A", "B": "B", "all": "AB", "mixed": "m", "layers": "L", "none": "0"}
CROSS = "\N{MULTIPLICATION SIGN}"


def rounds_section(rounds: Sequence[Round]) -> Markup:
    """The loss line, the grid, the reasons of refusals and the same in numbers."""
    return section("Rounds", _loss(rounds), *_who(rounds), _refusals(rounds), _numbers(rounds), name="rounds")


def _loss(rounds: Sequence[Round]) -> Markup:
    drawn = losses(rounds)
    if drawn is None:
        return element("p", "No training loss was recorded.", class_="note")
    words = "Training loss: a faint point per client, the line is the mean over the round's clients weighted by n_k."
    return element("figure", drawn, element("figcaption", words), class_="time")


def _who(rounds: Sequence[Round]) -> list[Markup]:
    names = sorted({name for entry in rounds for name in (*entry.clients, *entry.refused)})
    shown, last = names[:MOST_CLIENTS], rounds[-MOST_ROUNDS:]
    cut = f"Shown: {len(shown)} of {len(names)} clients that were asked, {len(last)} of {len(rounds)} rounds."
    more = " The rest is in ledger.csv." if (len(shown), len(last)) != (len(names), len(rounds)) else ""
    return [
        element("h3", "Who sent which part"),
        _legend({sent.part for entry in rounds for sent in entry.clients.values()}),
        scrolling(_grid(shown, last), "Who sent which part in each round", "grid"),
        element("p", cut + more, class_="note"),
    ]


def _legend(parts: set[str]) -> Markup:
    words = {
        "A": "the A half",
        "B": "the B half",
        "all": "both halves",
        "mixed": "parts by layer",
        "layers": "some layers whole",
        "none": "nothing",
    }
    keys = [(LETTERS.get(part, part[:2]), _class(part), words.get(part, part)) for part in sorted(parts)]
    keys += [
        ("A", "alone", "its only sender: the new server half is this client's, verbatim"),
        (CROSS, "refused", "refused"),
    ]
    marks = [join([element("span", letter, class_=f"cell {kind}"), f" {meaning}. "]) for letter, kind, meaning in keys]
    return element("p", *marks, class_="note")


def _class(part: str) -> str:
    return part if part in ("A", "B", "all") else "part"


def _grid(names: Sequence[str], rounds: Sequence[Round]) -> Markup:
    head = element(
        "tr", element("th", "client", scope="col"), *(element("th", str(r.index), scope="col") for r in rounds)
    )
    body = [
        element("tr", element("th", name, scope="row"), *(_cell(name, entry) for entry in rounds)) for name in names
    ]
    feet = [
        _foot("one sender", [" ".join(LETTERS.get(part, part) for part in entry.alone) for entry in rounds]),
        _foot(
            "nobody sent",
            ["" if entry.unsent == "none" else LETTERS.get(entry.unsent, entry.unsent) for entry in rounds],
        ),
    ]
    return element("table", element("thead", head), element("tbody", *body), element("tfoot", *feet))


def _cell(name: str, entry: Round) -> Markup:
    if (sent := entry.clients.get(name)) is None:
        reason = entry.refused.get(name)
        return element("td", CROSS, class_="refused", title=f"refused: {reason}") if reason else element("td")
    alone = " alone" if sent.part in entry.alone else ""
    return element("td", LETTERS.get(sent.part, sent.part[:2]), class_=_class(sent.part) + alone)


def _foot(title: str, values: Sequence[str]) -> Markup:
    return element("tr", element("th", title, scope="row"), *(element("td", value) for value in values))


def _refusals(rounds: Sequence[Round]) -> Markup:
    found = [f"round {e.index}, {name}: {reason}" for e in rounds for name, reason in e.refused.items()]
    if not found:
        return element("p", "No upload was refused.", class_="note")
    items = [element("li", words) for words in found[:MOST_REASONS]]
    more = f", of which the first {MOST_REASONS}" if len(found) > MOST_REASONS else ""
    return join([element("h3", f"Refused uploads: {len(found)}{more}"), element("ul", *items)])


def _numbers(rounds: Sequence[Round]) -> Markup:
    rows = [
        (
            str(entry.index),
            number(entry.loss),
            ", ".join(f"{name} {sent.part}" for name, sent in entry.clients.items()) or MISSING,
            " ".join(entry.alone) or "none",
            entry.unsent,
        )
        for entry in rounds
    ]
    headings = ("round", "mean loss", "who sent what", "one sender", "nobody sent")
    return folded(
        "The rounds in numbers", table(headings, rows, caption="Mean loss in nats per answer token, weighted by n_k")
    )
