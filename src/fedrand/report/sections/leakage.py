"""What the audit found: the verdict, what stands behind it, and by name what was not run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from fedrand.errors import suggested
from fedrand.report.amounts import plain
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, join, part, section
from fedrand.report.sections.audit import (
    canaries,
    controls,
    entropy,
    exposed,
    heat,
    histograms,
    knowledge,
    ladder,
    protections,
    roc,
    singletons,
    uploads,
    verdicts,
)
from fedrand.report.sections.audit.protocols import protocols

INTRODUCTION = (
    "Each attack scores items that were trained on (members) and items that were not. AUROC is the chance that a "
    "member scores higher: 0.5 is a coin. These are measurements of the attacks listed, not a guarantee against others."
)

UNATTACKED = {"absent": "Never took part", "silent": "Took part, but no upload of theirs was taken"}


class Part(NamedTuple):
    """A part of the chapter and its address; None from `draw` means that it was not run."""

    kind: str
    name: str
    draw: Callable[[Json], Markup | None]


PARTS = (
    Part(verdicts.KIND, "verdict", verdicts.verdicts),
    Part(heat.KIND, "attacks", heat.heat),
    Part(controls.KIND, "controls", controls.controls),
    Part(roc.KIND, "roc", roc.roc),
    Part(histograms.KIND, "scores", histograms.histograms),
    Part(uploads.KIND, "over-rounds", uploads.uploads),
    Part(ladder.KIND, "ladder", ladder.ladder),
    Part(knowledge.KIND, "knowledge", knowledge.knowledge),
    Part(singletons.KIND, "singletons", singletons.singletons),
    Part(canaries.KIND, "canaries", canaries.canaries),
    Part(exposed.KIND, "exposed", exposed.exposed),
    Part(entropy.KIND, "entropy", entropy.entropy),
    Part(protections.KIND, "protections", protections.protections),
)


def leakage(audit: Json | None, run: Path) -> Markup:
    """The whole chapter; without an audit it names the command that makes one."""
    if audit is None:
        words = join(
            [
                "Not audited yet: ",
                element("code", suggested("audit", run)),
                ", then ",
                element("code", suggested("report", run)),
                " make this section.",
            ]
        )
        return section("What leaks", element("p", words), name="leakage")
    drawn = {place.kind: place.draw(audit) for place in PARTS}
    shown = [markup for markup in drawn.values() if markup is not None]
    absent = [kind for kind, markup in drawn.items() if markup is None]
    parts = [
        element("p", INTRODUCTION),
        _links(drawn),
        *shown,
        *protocols(audit),
        _untested(audit),
        _absent(absent, run),
    ]
    return section("What leaks", *parts, name="leakage")


def _links(drawn: Mapping[str, Markup | None]) -> Markup:
    shown = [place for place in PARTS if drawn[place.kind] is not None]
    links = [element("a", place.kind, href=f"#{place.name}") for place in shown]
    return element("nav", *links, element("a", "All rows", href="#p1"), aria_label="parts of the audit")


def _untested(audit: Json) -> Markup:
    missing = audit.get("not_tested")
    items = [element("li", plain(item)) for item in missing] if isinstance(missing, list) else []
    body = element("ul", *items) if items else element("p", "The audit does not say.", class_="note")
    rest = [
        element("p", f"{words}, so not attacked: {plain(names)}.", class_="note")
        for key, words in UNATTACKED.items()
        if isinstance(names := audit.get(key), list) and names
    ]
    return part("Limits", "What was not tested", body, *rest, name="untested")


def _absent(kinds: list[str], run: Path) -> Markup:
    if not kinds:
        return join([])
    items = [element("li", f"{kind}: not run") for kind in kinds]
    words = join(
        ["Made by another command or an earlier version? ", element("code", suggested("audit", run)), " audits again."]
    )
    title = (
        f"{len(kinds)} parts of an audit are missing here" if len(kinds) > 1 else "One part of an audit is missing here"
    )
    return part("Not run", title, element("ul", *items), element("p", words, class_="note"), name="absent")
