"""Singleton harvest: where one client alone sent a half, the next broadcast repeats it bit for bit.

The "average" of one is that client's own half. Secure aggregation does not help, and every client gets it too.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fedrand.audit.threats import Sight
from fedrand.audit.transcript import Index
from fedrand.audit.views import Group, Groups, View, admitted
from fedrand.ledger import part
from fedrand.params import Key, Params

NEEDS = frozenset({Sight.BROADCASTS, Sight.FINAL})


class Harvest(NamedTuple):
    """What a broadcast gave away of the round before it. certain: the group sizes say that there was one sender;
    without them every tensor that changed may be a lone sender's, and is taken for one."""

    round: int
    params: Params
    certain: bool


def harvest(before: Params, after: Params, groups: Groups | None, normalized: bool) -> Params:
    """The tensors that one client alone sent, from two consecutive broadcasts.

    normalized: whether the average is over the senders alone; if not (paper's ablation) the lone half was weighed by
    n_k / m_r, which is undone in float64 where the group sizes are known.
    """
    lone = _lone(before, after, groups)
    if normalized or groups is None:
        return {key: after[key] for key in lone}
    return {key: _unweighted(after[key], groups.of[key], groups.examples) for key in lone}


def harvested(view: View, normalized: bool = True) -> Iterator[Harvest]:
    """Every round of a view that gave something away. PermissionError when it sees no broadcasts."""
    known = view.groups if Sight.GROUPS in view.has else {}
    for round in view.rounds:
        groups = known.get(round)
        if found := harvest(view.broadcast(round), view.after(round), groups, normalized):
            yield Harvest(round, found, groups is not None)


def lone_senders(index: Index) -> dict[tuple[int, str], frozenset[Key]]:
    """(round, client) -> the tensors that it alone sent, by the auditor's own transcript."""
    found: dict[tuple[int, str], frozenset[Key]] = {}
    for round, uploads in admitted(index).items():
        senders: dict[Key, list[str]] = defaultdict(list)
        for entry, keys in uploads.items():
            for key in keys:
                senders[key].append(entry.client)
        for client in {names[0] for names in senders.values() if len(names) == 1}:
            found[round, client] = frozenset(key for key, names in senders.items() if names == [client])
    return found


def singletons(view: View, index: Index, normalized: bool = True) -> list[dict[str, Any]]:
    """The part "singletons" of audit.json: each lone sender's half, and whether the view's harvest is that upload bit
    for bit. index: the auditor's transcript, which alone knows who it was."""
    got = {one.round: one.params for one in harvested(view, normalized)}
    rows = []
    for (round, client), keys in sorted(lone_senders(index).items()):
        entry = next(e for e in index.of("upload", client) if e.round == round)
        sent, found = index.read(entry), got.get(round, {})
        same = all(key in found and np.array_equal(found[key], sent[key]) for key in keys)
        rows.append({"round": round, "part": part(keys, _known(index, round)), "client": client, "recovered": same})
    return rows


def _known(index: Index, round: int) -> frozenset[Key]:
    return frozenset(index.read(next(e for e in index.of("broadcast") if e.round == round)))


def _lone(before: Params, after: Params, groups: Groups | None) -> list[Key]:
    if groups is None:
        return [key for key in after if not np.array_equal(after[key], before[key])]
    return [key for key, group in groups.of.items() if group.senders == 1]


def _unweighted(value: np.ndarray, group: Group, everyone: int) -> np.ndarray:
    return (value.astype(np.float64) * everyone / group.examples).astype(value.dtype)
