"""What the server knows of each upload: the start of what was sent, and of what was not."""

from collections.abc import Mapping, Sequence

from fedrand.report.amounts import pick, plain, real
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part, scrolling

KIND = "What the server knew"
MOST_CLIENTS, MOST_ROUNDS = 60, 120
LETTERS = {"A": "A", "B": "B", "all": "AB", "mixed": "m"}
RESTS = {
    "none": ("", "nothing was held back"),
    "exact": ("=", "the held-back part's start is known exactly"),
    "stale": ("", "it is known as it was so many rounds before"),
    "unknown": ("?", "it is not known"),
}


def knowledge(audit: Json) -> Markup | None:
    """The share of uploads whose whole start was known, and the grid behind it."""
    found = audit.get("knowledge")
    if not isinstance(found, Mapping):
        return None
    clients = found.get("clients")
    grid = _grid(clients) if isinstance(clients, Mapping) and any(clients.values()) else []
    return part(KIND, _finding(found), *grid, name="knowledge")


def _finding(found: Mapping[str, object]) -> str:
    known, uploads = real(found.get("start_known")), real(found.get("uploads"))
    if not uploads or known is None:
        return "No upload was read"
    return f"The server knew the full start of {known:.0f} of {uploads:.0f} uploads ({known / uploads:.0%})"


def _grid(clients: Mapping[str, Sequence[Json]]) -> list[Markup]:
    turns = sorted({int(entry["round"]) for found in clients.values() for entry in found})[-MOST_ROUNDS:]
    names = list(clients)[:MOST_CLIENTS]
    head = element(
        "tr", element("th", "client", scope="col"), *(element("th", str(turn), scope="col") for turn in turns)
    )
    body = [element("tr", element("th", name, scope="row"), *_cells(clients[name], turns)) for name in names]
    table = element("table", element("thead", head), element("tbody", *body))
    shown = f"Shown: {len(names)} of {len(clients)} clients, the last {len(turns)} rounds."
    return [_key(), scrolling(table, KIND, "grid"), element("p", shown, class_="note")]


def _cells(entries: Sequence[Json], turns: Sequence[int]) -> list[Markup]:
    by_turn = {int(entry["round"]): entry for entry in entries}
    return [_cell(by_turn[turn]) if turn in by_turn else element("td") for turn in turns]


def _cell(entry: Json) -> Markup:
    sent, rest = plain(entry.get("sent")), plain(entry.get("rest"))
    mark, words = RESTS.get(rest, ("", rest))
    age = pick(entry, "age")
    mark = f"\N{MINUS SIGN}{plain(age)}" if rest == "stale" else mark
    title = f"sent {sent}; {words}" + (f": {plain(age)}" if rest == "stale" else "")
    kind = "known" if rest in ("none", "exact") else "guessed" if rest == "stale" else "hidden"
    return element("td", LETTERS.get(sent, sent[:2]) + mark, class_=kind, title=title)


def _key() -> Markup:
    marks = {"A=": "known", "A\N{MINUS SIGN}2": "guessed", "A?": "hidden"}
    words = [RESTS["exact"][1], f"{RESTS['stale'][1]}, here 2", RESTS["unknown"][1]]
    keys = [
        part
        for (mark, kind), meaning in zip(marks.items(), words, strict=True)
        for part in (element("span", mark, class_=f"cell {kind}"), f" {meaning}. ")
    ]
    return element("p", "Letter: the half that was sent, whose start is always known. ", *keys, class_="note")
