"""Renyi entropy token by token over one member's and one other's caption (paper's Figure 4)."""

from collections.abc import Sequence

from fedrand.report.amounts import MISSING, number, plain, real
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, part

KIND = "Token entropies"
BINS = {"3 nats or more": 3.0, "2 to 3": 2.0, "1 to 2": 1.0, "below 1": float("-inf")}
BANNER = "These two texts are samples of a client. They are on this page and in audit.json; both stay with the auditor."


def entropy(audit: Json) -> Markup | None:
    """The two samples side by side, a number under every token."""
    samples = audit.get("entropy")
    if not isinstance(samples, list):
        return None
    shown = element("div", *map(_sample, samples), class_="panels")
    return part(
        KIND,
        _finding(samples),
        element("p", BANNER, class_="banner", role="note"),
        _key(),
        shown if samples else element("p", "No sample was kept."),
        element("p", "Two samples illustrate; they prove nothing. The attack's figures are above.", class_="note"),
        name="entropy",
    )


def _finding(samples: Sequence[Json]) -> str:
    means = {_side(sample): _mean(sample) for sample in samples}
    if not all(side in means and means[side] is not None for side in ("member", "other")):
        return "One side of the pair is missing"
    low, high = sorted(("member", "other"), key=lambda side: means[side] or 0.0)
    return (
        f"The {low}'s tokens are surer: {number(means[low], 2)} nats on average, the {high}'s {number(means[high], 2)}"
    )


def _side(sample: Json) -> str:
    return "member" if sample.get("member") is True else "other"


def _mean(sample: Json) -> float | None:
    known = [value for value in map(real, sample.get("entropies") or ()) if value is not None]
    return sum(known) / len(known) if known else None


def _sample(sample: Json) -> Markup:
    who = f"{_side(sample).capitalize()}: {plain(sample.get('id'))} of {plain(sample.get('client'))}"
    mean = _mean(sample)
    pairs = zip(sample.get("tokens") or (), sample.get("entropies") or (), strict=False)
    tokens = [_token(str(token), value) for token, value in pairs]
    title = element("figcaption", element("b", who), f" mean {number(mean, 2)} nats")
    return element("figure", title, element("p", *tokens, class_="tokens"))


def _token(token: str, value: object) -> Markup:
    known = real(value)
    step = None if known is None else next(index for index, least in enumerate(BINS.values()) if known >= least)
    title = f"{token}: {number(value)} nats"
    words = token if token.strip() else "\N{OPEN BOX}"
    return element(
        "span", words, element("small", number(value, 2)), class_="e" if step is None else f"e e{3 - step}", title=title
    )


def _key() -> Markup:
    steps = [element("span", words, class_=f"cell e{3 - index}") for index, words in enumerate(BINS)]
    return element("p", *steps, f" {MISSING} no figure", class_="note")
