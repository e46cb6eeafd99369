"""The quality of a run as rows of text: base model before, server after, clients' mean and standard deviation."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fedrand.report.amounts import MISSING, pick, plain, score, score_spread

METRICS = {
    "nll": "NLL",
    "exact": "exact match",
    "letter_accuracy": "right option, by letter or text",
    "text_accuracy": "right option, by text",
    "bleu1": "BLEU-1",
    "bleu2": "BLEU-2",
    "bleu3": "BLEU-3",
    "bleu4": "BLEU-4",
    "rouge_l": "ROUGE-L",
    "cider_d": "CIDEr-D",
    "cider_r": "CIDEr-R",
}
SPLITS = {
    "test": "test: in-domain",
    "validation": "validation: in-domain, what choices are made by",
    "ood": "ood: out of domain",
}
SCORES = {"raw": "", "pmi": ", PMI"}
HEADINGS = ("figure", "base model, before", "server, after", "clients, after", "clients of the last round")


class Quality(NamedTuple):
    """One figure: its name and its value for each model of HEADINGS."""

    label: str
    values: tuple[str, str, str, str]


def caption_rows(results: Mapping[str, object], split: str) -> list[Quality]:
    """NLL and caption metrics on one split; a figure that no model has is left out."""
    return _rows(results, ((label, (split, metric)) for metric, label in METRICS.items()))


def choice_rows(results: Mapping[str, object]) -> list[Quality]:
    """Multiple-choice accuracy by kind of question and of score."""
    kinds = pick(results, "server", "qa") or pick(results, "before", "qa")
    names = list(kinds) if isinstance(kinds, Mapping) else []
    return _rows(results, ((f"{kind}{text}", ("qa", kind, score)) for kind in names for score, text in SCORES.items()))


def _rows(results: Mapping[str, object], wanted: Iterable[tuple[str, tuple[str, ...]]]) -> list[Quality]:
    rows = [Quality(label, _values(results, path)) for label, path in wanted]
    return [row for row in rows if any(value != MISSING for value in row.values)]


def _values(results: Mapping[str, object], path: tuple[str, ...]) -> tuple[str, str, str, str]:
    last, metric = ("clients", "participants_last"), path[-1]
    return (
        score(metric, pick(results, "before", *path)),
        score(metric, pick(results, "server", *path)),
        score_spread(metric, pick(results, "clients", "mean", *path), pick(results, "clients", "std", *path)),
        score_spread(metric, pick(results, *last, "mean", *path), pick(results, *last, "std", *path)),
    )


def described(results: Mapping[str, object]) -> str:
    """What a figure of this run names: method, seed, and whom the clients' mean is over."""
    return (
        f"method {plain(results.get('method'))}, seed {plain(results.get('seed'))}; clients: unweighted mean "
        f"and standard deviation over the {plain(pick(results, 'clients', 'n'))} clients that took part, each "
        "with its own last adapter"
    )
