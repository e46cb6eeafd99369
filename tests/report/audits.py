"""Hand-made audits of the third form: a realistic one, and one at which a page could break."""

import math
from itertools import pairwise
from statistics import NormalDist
from typing import Any

NORMAL = NormalDist()
CLIENTS = [f"c{index:02d}" for index in range(6)]
REFUSED = {"refused": "598 non-members allow 0.6 false positives, 10 are needed"}
EVIL = "<script>alert('x')</script> & Zoë 日本 \"quoted\""


def figure(auroc: float, half: float = 0.03) -> dict[str, Any]:
    return {"auroc": auroc, "low": round(auroc - half, 4), "high": round(auroc + half, 4)}


def difference(value: float, half: float = 0.02) -> dict[str, float]:
    return {"value": value, "low": round(value - half, 4), "high": round(value + half, 4)}


def row(threat: str, model: str, attack: str, part: str, auroc: float | None, **more: Any) -> dict[str, Any]:
    """A row of P1; without an AUROC it does not apply."""
    where = {"threat": threat, "model": model, "attack": attack, "slice": part, "level": 0.95, "headline": False}
    if auroc is None:
        return {**where, "applies": False, "reason": "no half was sent twice", "auroc": None, "tpr": None, **more}
    rates = {"0.05": difference(round(auroc / 5, 4), 0.03), "0.01": difference(round(auroc / 20, 4)), "0.001": REFUSED}
    return {
        **where,
        **figure(auroc),
        "applies": True,
        "reason": "",
        "adjusted": [round(auroc - 0.045, 4), round(auroc + 0.045, 4)],
        "tpr": rates,
        "n_members": 612,
        "n_nonmembers": 598,
        "per_client": {name: round(auroc + 0.01 * (index - 2.5), 4) for index, name in enumerate(CLIENTS)},
        "base_auroc": 0.507,
        "over_base": difference(round(auroc - 0.507, 4)),
        "confounded": False,
        "over_blind": None,
        "fixed": {"low": round(auroc - 0.025, 4), "high": round(auroc + 0.025, 4), "p": 0.0123},
        "equivalence": {
            "equivalent": abs(auroc - 0.5) < 0.025,
            "margin": 0.05,
            "low": round(auroc - 0.025, 4),
            "high": round(auroc + 0.025, 4),
        },
        "detectable": 0.532,
        "adjusted_detectable": 0.541,
        **more,
    }


def rows() -> list[dict[str, Any]]:
    return [
        row("control", "base", "loss", "answer", 0.507, over_base=None),
        row("T0", "server", "reference", "answer", 0.6541, headline=True, over_base=None, base_auroc=None),
        row("T0", "server", "loss", "answer", 0.5513),
        row("T0", "server", "Min-K%++ 20%", "answer", 0.5287),
        row("T0", "server", "MaxRenyi-10%", "caption", 0.5021),
        row("T2", "server", "reference", "answer", 0.6577, over_base=None, base_auroc=None),
        row("T3", "client", "reference", "answer", 0.7114, headline=True, over_base=None, base_auroc=None),
        row("T3", "client", "loss", "answer", 0.5881),
        row("T3", "client", "zlib", "answer", 0.6642, confounded=True, over_blind=difference(0.0113)),
        row("T3", "update", "gradient cosine", "all uploads", 0.8123, headline=True, over_base=None, base_auroc=None),
        row("T3", "update", "span", "last upload", 0.7733, over_base=None, base_auroc=None),
        row("T3", "update", "FedMIA", "all uploads", None, reason="fewer than 2 others sent the same half"),
        row("T3+", "update", "FedMIA", "all uploads", 0.8311, over_base=None, base_auroc=None),
        row("T4", "update", "singleton", "last upload", None),
        row("Tinf", "oracle", "reference", "answer", 0.7912, headline=True, over_base=None, base_auroc=None),
        row("Tinf", "oracle", "loss", "answer", 0.6384),
    ]


def worst(model: str, attack: str, part: str, auroc: float, rate: Any) -> dict[str, Any]:
    return {"model": model, "attack": attack, "slice": part, **figure(auroc), "tpr": rate}


def together(**more: Any) -> dict[str, Any]:
    """What is shown of an adversary's attacks together: nine of eleven are like a coin."""
    known = {"margin": 0.05, "level": 0.95, "attacks": 11, "equivalent": 9, "low": 0.4712, "high": 0.5533}
    return {**known, "above": 0.5712, "detectable": 0.5411, **more}


def threats() -> list[dict[str, Any]]:
    def threat(name: str, adversary: str, sees: str, top: Any, **more: Any) -> dict[str, Any]:
        entry = {"id": name, "adversary": adversary, "sees": sees, "tested": top is not None, "worst": top}
        entry |= {"status": "leak found", "equivalence": together()} if top else {"status": "", "equivalence": None}
        return {**entry, "epsilon": None, "not_tested": ["LiRA with shadow clients"], "sentence": "", **more}

    return [
        threat(
            "T0",
            "user of the final model",
            "the final adapter",
            worst("server", "reference", "answer", 0.6541, difference(0.0327)),
            sentence="Anyone who gets the final adapter tells members from others with AUROC 0.654.",
        ),
        threat("T1", "eavesdropper", "sizes only, or every broadcast if it is tapped", None),
        threat(
            "T2",
            "curious server behind secure aggregation",
            "every server adapter, group sizes",
            worst("server", "reference", "answer", 0.6577, difference(0.0329)),
        ),
        threat(
            "T3",
            "curious server",
            "one client's uploads over all rounds and what it broadcast",
            worst("update", "gradient cosine", "all uploads", 0.8123, REFUSED),
            epsilon={"low": 0.70221, "level": 0.95, "guesses": 100, "correct": 75},
            sentence="A curious server tells a client's members from others with AUROC 0.812.",
        ),
        threat(
            "T3+",
            "curious server, all clients",
            "all clients' uploads",
            worst("update", "FedMIA", "all uploads", 0.8311, difference(0.0416)),
        ),
        threat("T4", "malicious fellow client", "broadcasts and its own data", None, tested=True),
        threat(
            "Tinf",
            "oracle (calibration only)",
            "the client's true model",
            worst("oracle", "reference", "answer", 0.7912, difference(0.0396)),
        ),
    ]


def roc(threat: str, model: str, attack: str, part: str, auroc: float) -> dict[str, Any]:
    """A binormal curve of this AUROC, from 1/598 on."""
    shift = NORMAL.inv_cdf(auroc) * math.sqrt(2)
    fpr = [598 ** (index / 39 - 1) for index in range(39)] + [1.0]
    tpr = [1 - NORMAL.cdf(NORMAL.inv_cdf(1 - f) - shift) if f < 1 else 1.0 for f in fpr]
    spread = [1.96 * math.sqrt(max(t * (1 - t), 1e-9) / 612) for t in tpr]
    low, high = ([min(1, max(0, t + sign * s)) for t, s in zip(tpr, spread, strict=True)] for sign in (-1, 1))
    return {
        "threat": threat,
        "model": model,
        "attack": attack,
        "slice": part,
        "fpr": fpr,
        "tpr": tpr,
        "low": low,
        "high": high,
    }


def bell(mean: float, sd: float, edges: list[float], total: int) -> list[int]:
    cumulative = [NORMAL.cdf((edge - mean) / sd) for edge in edges]
    return [round(total * (b - a)) for a, b in pairwise(cumulative)]


def histogram(threat: str, model: str, attack: str, part: str, shift: float, *, blind: bool) -> dict[str, Any]:
    edges = [round(-3 + 0.4 * index, 2) for index in range(18)]
    seen = (bell(0.2, 1.1, edges, 612), bell(0.15, 1.1, edges, 598)) if blind else (None, None)
    return {
        "threat": threat,
        "model": model,
        "attack": attack,
        "slice": part,
        "edges": edges,
        "members": bell(shift, 1, edges, 612),
        "others": bell(0, 1, edges, 598),
        "blind_members": seen[0],
        "blind_others": seen[1],
    }


def leak_of_uploads() -> list[dict[str, Any]]:
    found = []
    for turn in range(8):
        for place, name in enumerate(CLIENTS[turn % 3 : turn % 3 + 3]):
            switched, alone = (turn + place) % 2 == 0, (turn, place) in ((2, 0), (5, 1))
            auroc = 0.62 + 0.01 * turn + 0.08 * switched + 0.05 * alone
            found.append(
                {"client": name, "round": turn, **figure(round(auroc, 4), 0.05), "switched": switched, "alone": alone}
            )
    return found


def knowledge() -> dict[str, Any]:
    def entry(turn: int, place: int) -> dict[str, Any]:
        rest = ("none", "exact", "stale", "unknown")[(turn // 2 + place) % 4]
        age = {"stale": 2}.get(rest)
        return {"round": turn, "sent": "AB"[(turn + place) % 2] if rest != "none" else "all", "rest": rest, "age": age}

    clients = {name: [entry(turn, place) for turn in range(place % 2, 8, 2)] for place, name in enumerate(CLIENTS)}
    entries = [one for found in clients.values() for one in found]
    known = sum(one["rest"] in ("none", "exact") for one in entries)
    return {"uploads": len(entries), "start_known": known, "clients": clients}


def ladder() -> list[dict[str, Any]]:
    rungs = (
        ("R0", "the client's true adapter", 0.0, 0.7912),
        ("R1", "latest half with the newest earlier other half", 0.4312, 0.7114),
        ("R2", "the server's other half at the round's start", 0.5207, 0.6934),
        ("R3", "the aggregate after the round", 0.6124, 0.6655),
        ("R4", "stale half corrected by the server's drift", 0.3988, 0.7189),
    )
    return [
        {
            "rung": rung,
            "title": title,
            "distance": distance,
            **figure(auroc),
            "per_client": {name: {"distance": distance, "auroc": auroc} for name in CLIENTS},
        }
        for rung, title, distance, auroc in rungs
    ]


MEMBER = {
    "member": True,
    "client": "c03",
    "id": "member-17",
    "tokens": ["a", "red", "panda", "face", "."],
    "entropies": [2.113, 1.402, 0.311, 0.207, 0.094],
}
OTHER = {
    "member": False,
    "client": "c03",
    "id": "other-4",
    "tokens": ["a", "paper", "lantern", "."],
    "entropies": [2.204, 3.317, 2.951, 0.402],
}


def realistic() -> dict[str, Any]:
    heads = (
        ("T0", "server", "reference", "answer", 0.6541),
        ("T3", "client", "reference", "answer", 0.7114),
        ("T3", "update", "gradient cosine", "all uploads", 0.8123),
        ("Tinf", "oracle", "reference", "answer", 0.7912),
    )
    paper = [row("T0", "server", "loss", "answer", 0.9772, confounded=True, over_blind=difference(0.0611))]
    sizes = {"n_members": 612, "n_nonmembers": 598}
    return {
        "version": 3,
        "seed": 7,
        "seconds": 123.4,
        "provenance": {"transcript": "77aa", "data": {"name": "emoji", "fingerprint": "ab12"}},
        "threats": threats(),
        "protocols": {
            "P1": {"title": "members against held-out items of the same client", "rows": rows()},
            "P0": {"title": "the paper's protocol", "banner": "Domains differ.", "rows": paper},
            "P2": {
                "title": "whose record is it?",
                "rows": [row("T3", "client", "reference", "answer", 0.6821, over_base=None)],
            },
            "P4": {"title": "before any training", "rows": [row("control", "base", "reference", "answer", 0.4989)]},
            "P3": {
                "title": "canaries put in by a fair coin",
                "canaries": 200,
                "epsilon": [{"threat": "T3", "low": 0.70221, "level": 0.95, "guesses": 100, "correct": 75}],
            },
        },
        "ladder": ladder(),
        "knowledge": knowledge(),
        "singletons": [
            {"round": 2, "part": "A", "client": "c02", "recovered": True},
            {"round": 5, "part": "B", "client": "c03", "recovered": True},
        ],
        "rounds": leak_of_uploads(),
        "controls": {
            "blind_text": {**figure(0.5612), **sizes},
            "blind_image": {**figure(0.5109), **sizes},
            "permutation": {**figure(0.4993), **sizes},
        },
        "roc": [roc(*head) for head in heads],
        "histograms": [
            histogram("T3", "client", "reference", "answer", 0.7869, blind=True),
            histogram("T3", "update", "gradient cosine", "all uploads", 1.2532, blind=False),
        ],
        "entropy": [MEMBER, OTHER],
        "exposed": [
            {"client": "c03", "id": "member-17", "attack": "gradient cosine", "score": 0.9112, "rank": 1},
            {"client": "c03", "id": "member-17", "attack": "reference", "score": 3.2231, "rank": 2},
            {"client": "c01", "id": "member-90", "attack": "gradient cosine", "score": 0.8801, "rank": 3},
        ],
        "protections": {"epsilon": None, "delta": None, "accountant": None, "min_group": 3, "stratified": True},
        "family": {"attacks": 14, "level": 0.95, "critical": 2.7113},
        "rebuilt": {"c00": {"stale_rounds": [1, 2]}},
        "absent": ["c09"],
        "not_tested": ["LiRA with shadow clients"],
        "verdict": ["From the clients' last uploads, membership leaks."],
    }


def extreme() -> dict[str, Any]:
    """One client with a hostile name, refused rates, nothing applies, most parts missing or empty."""
    nothing = [row("T3", model, EVIL, "answer", None, reason=EVIL) for model in ("client", "update")]
    return {
        "version": 2,
        "seed": 7,
        "threats": [
            {
                "id": "T3",
                "adversary": EVIL,
                "sees": EVIL,
                "tested": True,
                "worst": None,
                "epsilon": None,
                "not_tested": [EVIL],
                "sentence": EVIL,
            },
            {"id": "T4", "tested": False},
        ],
        "protocols": {"P1": {"title": EVIL, "rows": nothing}},
        "singletons": [],
        "exposed": [{"client": EVIL, "id": "x" * 300, "attack": EVIL, "score": None, "rank": 1}],
        "rounds": [
            {
                "client": EVIL,
                "round": 0,
                "auroc": None,
                "low": None,
                "high": None,
                "switched": False,
                "alone": True,
            }
        ],
        "histograms": [
            {
                "threat": "T3",
                "model": "client",
                "attack": EVIL,
                "slice": "",
                "edges": [0, 1],
                "members": [0],
                "others": [0],
                "blind_members": None,
                "blind_others": None,
            }
        ],
        "entropy": [{**MEMBER, "client": EVIL, "id": EVIL, "tokens": [EVIL], "entropies": [3.0]}],
        "knowledge": {"uploads": 0, "start_known": 0, "clients": {EVIL: []}},
        "protections": {"epsilon": {EVIL: 8.0823}, "delta": 1e-5, "accountant": "RDP", "min_group": None},
    }
