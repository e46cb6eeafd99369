"""What the page draws besides tables: ROC curves, score histograms, the entropies of two texts, the most exposed records."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fedrand.audit.models import Models
from fedrand.audit.rows import Row, Samples
from fedrand.audit.scoring import model as loaded
from fedrand.audit.statistics import Sample, roc
from fedrand.data.example import Example
from fedrand.generate import descriptions
from fedrand.score import ALPHAS

BINS, EXPOSED = 30, 12
HALF = ALPHAS.index(0.5)


def curves(models: Models, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """ROC with a pointwise band of every headline row."""
    how = models.bench.how
    return [
        _where(row)
        | {
            name: values.tolist()
            for name, values in roc(
                list(row.samples.values()), models.bench.rng("roc", row.name), how.resamples, how.level
            )
            ._asdict()
            .items()
        }
        for row in rows
    ]


def histograms(rows: Iterable[Row], blind: Samples | None) -> list[dict[str, Any]]:
    """Scores of both sides; the blind classifier's are stretched onto the same edges, so that shapes can be compared."""
    return [_histogram(row, blind) for row in rows]


def _histogram(row: Row, blind: Samples | None) -> dict[str, Any]:
    members, others = _pooled(row.samples)
    edges = np.histogram_bin_edges(np.concatenate([members, others]), BINS)
    line = _where(row) | {"edges": edges.tolist(), "members": _counts(members, edges), "others": _counts(others, edges)}
    if not blind or not row.samples.keys() <= blind.keys():
        return {**line, "blind_members": None, "blind_others": None}
    blind_sides = _pooled({name: blind[name] for name in row.samples})
    own = np.histogram_bin_edges(np.concatenate(blind_sides), BINS)
    return {**line, "blind_members": _counts(blind_sides[0], own), "blind_others": _counts(blind_sides[1], own)}


def _pooled(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.concatenate([getattr(one, side) for one in samples.values()]) for side in ("members", "others"))


def _counts(values: np.ndarray, edges: np.ndarray) -> list[int]:
    return np.histogram(values, edges)[0].tolist()


def entropies(models: Models) -> list[dict[str, Any]]:
    """Figure 4 of the paper: the server's own description of a member and of a held-out image, token by token.

    Of the client with the most data, the first of each side: fixed before any score is seen.
    """
    bench = models.bench
    if not bench.sides:
        return []
    client, sides = max(bench.sides.items(), key=lambda item: len(item[1].members))
    shown = [side[0] for side in sides if side]
    with loaded(bench.world, bench.final):
        table, prompts = bench.world.recipe.evaluate, bench.world.encoded(shown, with_answer=False)
        said = descriptions(bench.world.vlm, bench.world.features, prompts, table.max_new_tokens, table.batch_size)
    decode = bench.world.vlm.tokenizer.decode
    return [
        {
            "member": example in sides.members,
            "client": client,
            "id": example.id,
            "tokens": [decode([int(token)]) for token in words.ids],
            "entropies": words.renyi[HALF][: len(words.ids)].tolist(),
        }
        for example, words in zip(shown, said, strict=True)
    ]


def exposed(rows: Sequence[Row], sides: Mapping[str, Sequence[Sequence[Example]]]) -> list[dict[str, Any]]:
    """The members that stand highest among their own client's held-out examples, over the headline attacks.

    rank: mean over attacks of the share of the client's held-out examples that score lower, 1 for above all of them.
    """
    attacked = {client: [row for row in rows if client in row.samples] for client in sides}
    ranks = {
        client: np.mean([_above(row.samples[client]) for row in some], axis=0)
        for client, some in attacked.items()
        if some
    }
    standing = ((-rank, client, e.id, n) for client, of in ranks.items() for n, (rank, e) in _each(of, sides[client]))
    found = []
    for rank, client, name, place in heapq.nsmallest(EXPOSED, standing):
        own = [(row, row.samples[client]) for row in attacked[client]]
        best = max((_above(s)[place], f"{row.model}: {row.attack}", float(s.members[place])) for row, s in own)
        found.append({"client": client, "id": name, "attack": best[1], "score": best[2], "rank": float(-rank)})
    return found


def _each(ranks: np.ndarray, sides: Sequence[Sequence[Example]]) -> Iterator[tuple[int, tuple[float, Example]]]:
    return enumerate(zip(ranks.tolist(), sides[0], strict=True))


def _above(sample: Sample) -> np.ndarray:
    """Of each member the share of the others that score lower, [members]."""
    return np.searchsorted(np.sort(sample.others), sample.members, "left") / len(sample.others)


def _where(row: Row) -> dict[str, Any]:
    return {"threat": row.threat, "model": row.model, "attack": row.attack, "slice": row.slice}
