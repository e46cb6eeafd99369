"""Every upload of a run against every example of its client: one forward and backward pass each at the best known start.

The attacks that need only that pass share it: lengths, cosine, difference, both spans, and the cosines with the others'
updates of the same round. FedMIA by the loss needs passes of its own (`upload_losses`).
"""

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedrand.activations import Touched, touched
from fedrand.audit.knowledge import Seen, Told, history, probe
from fedrand.audit.scoring import likelihoods
from fedrand.audit.threats import Sight
from fedrand.audit.transcript import Index
from fedrand.audit.updates.averaged import averaged
from fedrand.audit.updates.cosine import cosines
from fedrand.audit.updates.difference import differences
from fedrand.audit.updates.fedmia import Compared, FedMIA, fedmia
from fedrand.audit.updates.gradient import Gradients, Scores
from fedrand.audit.updates.harvest import lone_senders
from fedrand.audit.updates.norm import gradient_norms
from fedrand.audit.updates.span import Bases, bases, projections
from fedrand.audit.views import View
from fedrand.data.example import Example
from fedrand.params import Key, Params, select
from fedrand.progress import Progress
from fedrand.world import World

SILENT = Progress()


@dataclass(frozen=True)
class RoundScores:
    """One upload. values: by attack, a score per example (only the spans of what was sent); others: each example's
    gradient cosine with the updates of the others that sent the same half in that round, [others, examples]."""

    seen: Told
    values: Mapping[str, Scores]
    others: Scores


def upload_scores(
    world: World,
    view: View,
    examples: Mapping[str, Sequence[Example]],
    progress: Progress = SILENT,
    newest: int | None = None,
) -> dict[str, list[RoundScores]]:
    """Each client's uploads (the `newest` of them) in the order of rounds, scored on its own `examples`.

    A view of T3 takes one client; T3+ takes all, and gives `others` too. Costs one backward pass per example and upload.
    """
    strategy = world.recipe.method()
    total, done = sum(min(len(view.uploads(client)), newest or sys.maxsize) for client in examples), 0
    found: dict[str, list[RoundScores]] = {}
    for client, asked in examples.items():
        found[client] = []
        for seen in deque(history(view, client, strategy), newest):
            found[client].append(_scored(world, view, seen, asked))
            done += 1
            progress.step("uploads", done, max(done, total), client)
    return found


def combined(rounds: Sequence[RoundScores]) -> dict[str, Scores]:
    """All uploads of one client together: by attack, a score per example; attacks that never could look are absent."""
    names = dict.fromkeys(name for one in rounds for name in one.values)
    return {name: averaged([one.values[name] for one in rounds if name in one.values]) for name in names}


def fedmia_cosine(rounds: Sequence[RoundScores]) -> FedMIA:
    """FedMIA-II over one client's uploads.

    The gradient is taken once, at this client's best known start, and compared with everyone's update: the paper takes
    it at the global model, which all its clients start from.
    """
    return fedmia([Compared(one.seen.line["sent"], one.values["gradient cosine"], one.others) for one in rounds])


def upload_losses(
    world: World,
    view: View,
    client: str,
    examples: Sequence[Example],
    newest: int | None = None,
) -> FedMIA:
    """FedMIA-I over one client's `newest` uploads: the loss under the model it sent, its hidden half at the best known
    start, against those of the others with the same half. One forward pass per example, upload and other."""
    strategy = world.recipe.method()
    compared: list[Compared] = []
    own = deque(history(view, client, strategy), newest)
    met = {entry.client for seen in own for entry in view.together(seen.round)} - {client}
    wanted = {(seen.round, seen.sent) for seen in own}
    every = (one for name in sorted(met) for one in history(view, name, strategy))
    crowd = [one for one in every if (one.round, one.sent) in wanted]
    for seen in own:
        others = [one for one in crowd if (one.round, one.sent) == (seen.round, seen.sent)]
        values = np.array([likelihoods(world, examples, _model(one)) for one in (seen, *others)])
        compared.append(Compared(seen.row()["sent"], values[0], values[1:]))
    return fedmia(compared)


def round_rows(rounds: Mapping[str, Sequence[RoundScores]], index: Index) -> list[dict[str, Any]]:
    """A line per upload, in the order of `rounds`: client, round, whether it switched halves since its time before,
    and whether it alone sent some tensor. index: the auditor's transcript."""
    alone = lone_senders(index)
    return [
        {
            "client": client,
            "round": one.seen.round,
            "switched": one.seen.switched,
            "alone": (one.seen.round, client) in alone,
        }
        for client, own in rounds.items()
        for one in own
    ]


def _scored(world: World, view: View, seen: Seen, examples: Sequence[Example]) -> RoundScores:
    change, others = seen.change, _others(view, seen)
    spans = {f"span of {factor}": spanned for factor in "AB" if (spanned := bases(change, factor))}
    parts = []
    for batch in touched(world.adapter, world.features, world.encodings(examples), probe(view, seen)):
        gradients = Gradients(select(batch.gradients, change))
        own = _gradient_scores(gradients, change) | _span_scores(batch, spans)
        parts.append((own, [cosines(gradients, other) for other in others]))
    values = {name: np.concatenate([own[name] for own, _ in parts]) for name in parts[0][0]}
    crowd = [np.concatenate(rows) for rows in zip(*(rest for _, rest in parts), strict=True)]
    return RoundScores(seen.told(), values, np.array(crowd).reshape(len(others), len(examples)))


def _gradient_scores(gradients: Gradients, change: Params) -> dict[str, Scores]:
    return {
        "gradient norm": gradient_norms(gradients),
        "gradient cosine": cosines(gradients, change),
        "gradient difference": differences(gradients, change),
    }


def _span_scores(batch: Touched, spans: Mapping[str, Bases]) -> dict[str, Scores]:
    """An elementwise product's layers are not watched: what its factors span are not activations."""
    vectors = {"span of A": batch.inputs, "span of B": batch.outputs}
    spans = {name: spanned for name, spanned in spans.items() if spanned.keys() <= batch.inputs.keys()}
    return {name: projections(spanned, vectors[name], batch.outputs) for name, spanned in spans.items()}


def _others(view: View, seen: Seen) -> list[dict[Key, np.ndarray]]:
    """The changes of the other clients that sent the same tensors in the same round; none where the view has only one
    client's uploads."""
    if Sight.OTHERS not in view.has:
        return []
    sent = [view.read(entry) for entry in view.together(seen.round) if entry.client != seen.client]
    server = view.broadcast(seen.round)
    return [{key: server[key] - end[key] for key in end} for end in sent if end.keys() == seen.sent]


def _model(seen: Seen) -> Params:
    """What the client sent, on the best known start of the rest."""
    return {key: known.value for key, known in seen.start.items()} | seen.end
