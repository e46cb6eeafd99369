"""The verdict: what each adversary got by its best attack, and what was not tried on its behalf."""

from collections.abc import Sequence

from fedrand.report.amounts import MISSING, number, pick
from fedrand.report.charts import auroc_axis, auroc_ticks, interval
from fedrand.report.leakage import SHORT
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part
from fedrand.report.svg import Scale
from fedrand.report.threat import CALIBRATION, SUREST, Threat, Worst, strongest, threats

KIND = "Verdict per threat model"
MARKS = {
    "leak found": ("leak", "\N{BLACK SQUARE}"),
    "no leak found": ("", "\N{WHITE CIRCLE}"),
    "not resolved": ("doubt", "?"),
    "confounded": ("doubt", "\N{DOUBLE DAGGER}"),
    "score reversed": ("doubt", "\N{DOWNWARDS ARROW}"),
}


def verdicts(audit: Json) -> Markup | None:
    """A card per threat model."""
    found = threats(audit)
    if not found:
        return None
    rows = [threat.worst.as_row for threat in found if threat.worst]
    scale = auroc_axis(rows)
    cards = [_card(threat, scale) for threat in found]
    return part(KIND, _finding(found), element("div", *cards, class_="threats"), _family(audit), name="verdict")


def _finding(found: Sequence[Threat]) -> str:
    top = strongest(list(found))
    if top is None or top.worst is None:
        return "No adversary's attack gave a figure"
    able = [threat for threat in found if threat.worst and threat.id not in CALIBRATION]
    if not any(threat.leaks for threat in able):
        words = "No leak found" if all(one.status == "no leak found" for one in able) else "Not resolved"
        return f"{words}; of the surest attacks the highest AUROC is {top.worst.corrected}, for {top.name}"
    return f"{top.id} ({top.adversary}) tells members best: AUROC {top.worst.corrected}"


def _card(threat: Threat, scale: Scale) -> Markup:
    kind, mark = MARKS.get(threat.status, ("none", "\N{MULTIPLICATION SIGN}"))
    return element(
        "article",
        element("h4", threat.name),
        element("p", f"{mark} {threat.status}", class_="status"),
        element("p", threat.reading),
        *_picture(threat.worst, scale),
        element("dl", *_facts(threat)),
        class_=f"threat {kind}".strip(),
    )


def _picture(worst: Worst | None, scale: Scale) -> list[Markup]:
    return [] if worst is None else [element("div", auroc_ticks(scale), interval(worst.as_row, scale), class_="strip")]


def _facts(threat: Threat) -> list[Markup]:
    facts = {"Sees": threat.sees or MISSING, **_measured(threat.worst), **_together(threat)}
    facts["Epsilon at least"] = threat.epsilon or "not run: no canaries against this adversary"
    facts["Not tested"] = "; ".join(threat.not_tested) or "the audit does not say"
    return [element("div", element("dt", name), element("dd", words)) for name, words in facts.items()]


def _measured(worst: Worst | None) -> dict[str, str]:
    if worst is None:
        return {"Worst attack": "none gave a figure"}
    facts = {
        "Worst attack": f"{worst.name} \N{MIDDLE DOT} {SHORT.get(worst.model, worst.model)}",
        "AUROC": worst.text,
        "TPR at 1% FPR": worst.rate.text,
    }
    if worst.row and worst.row.adjusted:
        low, high = worst.row.adjusted
        facts["AUROC, for all attacks together"] = f"[{number(low)}, {number(high)}]"
    if worst.row and worst.row.fixed:
        facts["AUROC, these models given"] = f"{worst.row.fixed.text} (DeLong)"
    if worst.row and worst.row.confounded:
        over = worst.row.over_blind
        facts["Over the blind classifier"] = over.text if over else MISSING
    return facts


def _together(threat: Threat) -> dict[str, str]:
    """What may be said beside the worst attack: of all attacks, or, in an earlier audit, of the worst alone."""
    if (whole := threat.together) is None:
        least = threat.worst and threat.worst.row and threat.worst.row.detectable
        return {"Minimum detectable": f"AUROC {number(least)}, by the worst attack"} if least else {}
    facts = {"Minimum detectable": f"AUROC {number(whole.detectable)} by each of {whole.attacks} attacks"}
    if threat.leaks or threat.status == "confounded":
        return facts
    return {"Like a coin": whole.text, "Not ruled out": f"an AUROC up to {number(whole.above)}", **facts}


def _family(audit: Json) -> Markup:
    attacks, level = pick(audit, "family", "attacks"), pick(audit, "family", "level")
    correction = (
        f"Worst: {SUREST}. "
        f"The interval for all attacks together holds for {attacks} attacks at "
        f"once (max-T at {number(level, 2)}, critical value {number(pick(audit, 'family', 'critical'), 2)})."
        if attacks
        else "Each worst attack is picked from many; no correction for that was run."
    )
    return element(
        "p", correction + " A floor, not a ceiling: an attack that was not tried may find more.", class_="note"
    )
