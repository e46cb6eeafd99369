"""The words of an audit in a line each: all of them at the foot of the page, those that were used below a table."""

import re
from collections.abc import Mapping

from fedrand.report.amounts import pick, plain
from fedrand.report.load import Json
from fedrand.report.sections.audit.protocols import TITLES

WORDS: Mapping[str, str] = {
    "member": "an example that a client trained on; every attack tries to tell members from others",
    "AUROC": "the chance that an attack scores a member above another example: 0.5 is a coin, 1 is every time",
    "TPR at 1% FPR": "the share of members found while 1 in 100 others is taken for one",
    "reference": "attack: how much likelier the text is than under the base model",
    "loss": "attack: how likely the text is",
    "zlib": "attack: how likely the text is for its compressed size",
    "lowercase": "attack: how likely the text is against its lower-case form",
    "Min": "attack Min-K%: how likely the K% least likely tokens are; with ++, against what else could stand there",
    "MaxRenyi": "attack MaxRenyi-K%, the paper's: how sure the model is (Renyi entropy) where it is least sure, over K% of the tokens",
    "ModRenyi": "attack: the same kind of entropy, with the true token taken into account",
    "LiRA": "attack: the likelihood ratio of a score under models trained with the example and without it (shadow models)",
    "RMIA": "attack: likelihood ratio against other examples, with shadow models",
    "gradient norm": "attack: how large the example's own gradient is",
    "gradient cosine": "attack: how far the example's own gradient points along what the client sent",
    "gradient difference": "attack: how much shorter what was sent becomes without the example's own gradient",
    "FedMIA": "attack: one client's upload against those of the others in the same round",
    "span": "attack: how much of the example lies in the directions that the sent half of the update spans",
    "blind": "control: a classifier that saw no model; what it finds is a difference of the data, not a leak",
    "canary": "a random record put into a client's data by a coin, to be guessed for a lower bound on epsilon",
    "lone sender": "the only client that sent a half in a round (singleton): the half's average is its own",
    "ladder": "estimates of a client's whole adapter, a rung each (R0, R1, ...), from what a curious server holds",
}


def entries(*audits: Json | None) -> dict[str, str]:
    """Term -> meaning: the words above; protocols, adversaries and rungs as the audits themselves name them."""
    found = dict(WORDS)
    for audit in filter(None, audits):
        for name, title in TITLES.items():
            found[name] = f"who is compared: {plain(pick(audit, 'protocols', name, 'title') or title)}"
        for one in _listed(audit, "threats"):
            found[plain(one.get("id"))] = f"{plain(one.get('adversary'))}. {plain(one.get('sees'))}"
        for one in _listed(audit, "ladder"):
            found[plain(one.get("rung"))] = f"estimate of a client's adapter: {plain(one.get('title'))}"
    return found


def used(known: Mapping[str, str], text: str) -> list[str]:
    """A line for each term that stands in the text as a word of its own."""
    return [f"{term}: {meaning}" for term, meaning in known.items() if _word(term).search(text)]


def _word(term: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(term)}(?![\w+])")


def _listed(audit: Json, name: str) -> list[Json]:
    found = audit.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
