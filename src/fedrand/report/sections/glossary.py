"""A page's last section: its words, a line each."""

from collections.abc import Mapping

from fedrand.report.markup import Markup, section, table


def glossary(known: Mapping[str, str]) -> Markup:
    """Every term and what it means."""
    return section("Words", table(("word", "meaning"), known.items(), caption="Words", class_="text"), name="words")
