"""HTML and SVG elements; whatever is not markup already is escaped, so no name or caption can become a tag."""

from collections.abc import Iterable, Sequence
from html import escape

VOID = frozenset({"br", "img", "meta"})


class Markup(str):
    """Text that is markup; only `element` and `join` make it."""


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """`element("td", "a < b", class_="name")`; children that are no Markup are escaped, as are attribute values.

    An underscore in a name is a hyphen, one at its end is dropped; an attribute that is None is left out.
    """
    shown = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{shown}>") if tag in VOID else Markup(f"<{tag}{shown}>{join(children)}</{tag}>")


def join(parts: Iterable[str]) -> Markup:
    """The parts after each other; those that are no Markup are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def section(title: str, *children: str, name: str) -> Markup:
    """A section with a heading that a link can reach."""
    return element("section", element("h2", title, id=name), *children, aria_labelledby=name)


def part(kind: str, finding: str, *children: str, name: str) -> Markup:
    """A part of a section: `finding` says what the data show, `kind` what kind of figure shows it."""
    title = element("h3", element("span", kind, class_="kind"), " ", finding, id=name)
    return element("section", title, *children, class_="part", aria_labelledby=name)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    class_: str = "",
    columns: Sequence[str] = (),
) -> Markup:
    """A table that scrolls sideways by itself when the screen is narrow; the first cell of a row is its heading.

    columns: a class for the cells of each column ("" for none).
    """
    classes = [name or None for name in columns] or [None] * len(headings)
    head = [element("th", words, scope="col", class_=kind) for words, kind in zip(headings, classes, strict=True)]
    body = [element("tr", *_cells(row, classes)) for row in rows]
    whole = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_=class_ or None,
    )
    return scrolling(whole, caption)


def _cells(row: Sequence[str], classes: Sequence[str | None]) -> list[Markup]:
    first = element("th", row[0], scope="row", class_=classes[0])
    rest = zip(row[1:], classes[1:], strict=True)
    return [first, *(element("td", cell, class_=kind) for cell, kind in rest)]


def scrolling(content: str, label: str, class_: str = "scroll") -> Markup:
    """A box that scrolls, also with the keyboard."""
    return element("div", content, class_=class_, role="region", aria_label=label, tabindex=0)


def folded(summary: str, *children: str, open_: bool = False) -> Markup:
    """A part that opens on a click."""
    return element("details", element("summary", summary), *children, open="" if open_ else None)
