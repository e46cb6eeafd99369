"""The document around the sections: light and dark, wide and narrow, and nothing that is loaded from elsewhere."""

from importlib.resources import files

from fedrand.report.markup import Markup, element

METHOD_COLOURS = ("m0", "m1", "m2", "m3", "m4", "m5")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def style(name: str) -> Markup:
    """One of our own style sheets, "drawing.css" or "page.css"."""
    return Markup(files("fedrand.report").joinpath(name).read_text(encoding="utf-8"))


def page(title: str, *sections: str) -> str:
    """A whole document; the policy in its head forbids every request."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", title),
        element("style", style("drawing.css"), style("page.css")),
    )
    return "<!DOCTYPE html>\n" + element("html", head, element("body", element("main", *sections)), lang="en") + "\n"
