"""A small world: a run folder whose every figure is known."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

VOID = {"meta", "img", "br"}


def figures(nll: float, cider: float) -> dict[str, Any]:
    split = {"nll": nll, "nll_n": 40, "exact": 0.125, "bleu4": 0.25, "cider_d": cider, "n": 40, "captions_n": 39}
    return {"test": split, "ood": {**split, "nll": nll + 1}, "qa": {"kind": {"raw": 0.5, "pmi": 0.75, "n": 20}}}


def results() -> dict[str, Any]:
    return {
        "method": "fedrand",
        "seed": 7,
        "rounds": 3,
        "before": figures(2.111, 0.111),
        "server": figures(1.222, 0.888),
        "clients": {
            "mean": figures(1.333, 0.777),
            "std": figures(0.044, 0.055),
            "n": 2,
            "each": {"c00": figures(1.3001, 0.7), "c01": figures(1.3669, 0.8)},
            "participants_last": {"mean": figures(1.444, 0.666), "std": figures(0.033, 0.066), "n": 2},
        },
        "bytes": {
            "upload": 1234567,
            "download": 2469134,
            "total": 3703701,
            "fedavg_upload": 2469134,
            "fedavg_total": 5000000,
            "ratio_upload": 0.5,
            "ratio_total": 0.75,
        },
    }


def rounds() -> list[dict[str, Any]]:
    """Round 0: A twice; 1: A alone and B alone; 2: c00 sends B, c01 is refused."""

    def sent(part: str, loss: float | None) -> dict[str, Any]:
        return {"sent": part, "num_examples": 10, "loss_mean": loss}

    def row(index: int, clients: dict[str, Any], loss: float, unsent: str, refused: list[dict[str, Any]]) -> dict:
        unsent_part = {"part": unsent, "tensors": 0 if unsent == "none" else 4}
        return {"round": index, "clients": clients, "loss_mean": loss, "nobody_sent": unsent_part, "refused": refused}

    broken = [{"client": "c01", "key": None, "reason": "3 values are NaN or Inf"}]
    return [
        row(0, {"c00": sent("A", 3.0), "c01": sent("A", 2.0)}, 2.5, "B", []),
        row(1, {"c00": sent("A", 2.0), "c01": sent("B", 1.5)}, 1.75, "none", []),
        row(2, {"c00": sent("B", 1.25)}, 1.25, "A", broken),
    ]


def finding(model: str, attack: str, auroc: float | None, **more: Any) -> dict[str, Any]:
    known = {"low": None, "high": None} if auroc is None else {"low": auroc - 0.03, "high": auroc + 0.03}
    threat = {"server": "T0", "client": "T3", "base": "T0"}.get(model, "T3")
    row = {"threat": threat, "model": model, "attack": attack, "slice": "caption", "auroc": auroc, **known}
    sizes = {"level": 0.95, "n_members": 612, "n_nonmembers": 598}
    per_client = {"c00": 0.4321, "c01": 0.6789}
    return {**row, **sizes, "per_client": per_client, "base_auroc": 0.491, "applies": auroc is not None, **more}


def audit() -> dict[str, Any]:
    rows = [
        finding("server", "loss", 0.512),
        finding("server", "reference", 0.555),
        finding("client", "reference", 0.618),
        finding("update", "span", None, reason="no half was sent twice"),
        finding("base", "loss", 0.502, base_auroc=None),
    ]
    paper = [finding("server", "loss", 0.701)]
    return {
        "protocols": {"P1": {"rows": rows}, "P0": {"rows": paper, "banner": "Domains differ."}},
        "not_tested": ["LiRA with shadow clients"],
        "seed": 7,
        "provenance": {"transcript": "77aa"},
    }


ENVIRONMENT = {
    "recipe": {},
    "model": {"name": "tiny", "fingerprint": "9f2c"},
    "data": {"name": "emoji", "fingerprint": "ab12"},
    "versions": {"fedrand": "0.1.0", "torch": "2.13.0"},
}
RECIPE = """seed = 7
[model]
name = "tiny"
[data]
name = "emoji"
partition = "dirichlet"
alpha = 0.5
[strategy]
name = "fedrand"
rho = 0.5
[train]
rounds = 3
clients_per_round = 2
"""


class World:
    """What a run folder holds, to be changed before `write`."""

    def __init__(self) -> None:
        self.results, self.rounds, self.environment, self.recipe = results(), rounds(), dict(ENVIRONMENT), RECIPE
        self.audit: dict[str, Any] | None = audit()

    def write(self, run: Path) -> Path:
        run.mkdir(parents=True)
        (run / "results.json").write_text(json.dumps(self.results))
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in self.rounds))
        (run / "environment.json").write_text(json.dumps(self.environment))
        (run / "recipe.toml").write_text(self.recipe)
        if self.audit is not None:
            (run / "audit.json").write_text(json.dumps(self.audit))
        return run


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def new_world() -> Callable[[], World]:
    return World


class Reader(HTMLParser):
    """Reads a page: its words, its elements with attributes, and whether every tag is closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.parts: dict[str, list[str]] = {"": []}  # words by the id of the heading that they stand under
        self.part = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("h2", "h3") and (name := dict(attrs).get("id")):
            self.part = name
            self.parts[name] = []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)
            self.parts[self.part].append(data)

    def under(self, heading: str) -> str:
        return " ".join(" ".join(self.parts[heading]).split())

    @property
    def text(self) -> str:
        return "\n".join(self.words)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def read() -> Callable[[str], Reader]:
    return Reader
