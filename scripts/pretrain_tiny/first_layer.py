"""Where the projector's first layer starts: a ridge regression from what the tower sees to what a drawing is.

Two thousand drawings are few for a projector that learns from texts alone: a linear probe of the same features tells
the kinds of unseen drawings apart better than the model that reads them. So the layer's outputs start as such a probe's
scores: one per kind, one per head word of kinds, the rest for the main directions of names and keywords.
"""

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fedrand.data.emoji import EmojiItem

HEAD = 0.5  # a kind's target for drawings of other kinds with its head word; 1 more for its own
SHARED = 4  # concepts that a word must be told of
BALANCE = 0.5  # the power of how common its kind is by which a drawing weighs less


@torch.no_grad()
def aim(first: nn.Linear, seen: Tensor, items: Sequence[EmojiItem], ridge: float) -> None:
    """Set the layer to centred scores. seen: normalised features, means over the image tokens, [drawings, views, channels];
    over the first views each score has a variance of one. ValueError when the layer has fewer outputs than there are kinds
    and head words."""
    wanted = targets(items, first.out_features)
    commonness = Counter(item.kind for item in items)
    weights = torch.tensor([commonness[item.kind] ** -BALANCE for item in items], dtype=torch.float64)
    slopes, start = solved(seen.double(), wanted, weights / weights.mean(), ridge)
    scale = 1 / (seen[:, 0].double() @ slopes).std(0)
    first.weight.copy_((slopes * scale).T)
    first.bias.copy_(start * scale)


def targets(items: Sequence[EmojiItem], count: int) -> Tensor:
    """What is regressed on, [drawings, count]: kinds, their head words, main directions of the words that items share."""
    kinds, heads = sorted({item.kind for item in items}), sorted({head(item.kind) for item in items})
    is_kind = torch.tensor([[float(item.kind == kind) for kind in kinds] for item in items]).double()
    is_head = torch.tensor([[float(head(item.kind) == one) for one in heads] for item in items]).double()
    of_kind = torch.tensor([[float(head(kind) == one) for one in heads] for kind in kinds]).double()
    known = Counter(word for item in {item.group: item for item in items}.values() for word in words(item))
    shared = sorted(word for word, concepts in known.items() if concepts >= SHARED)
    told = torch.tensor([[float(word in words(item)) for word in shared] for item in items]).double()
    told -= told.mean(0)
    if count < len(kinds) + len(heads):
        raise ValueError(f"{count} outputs are too few for {len(kinds)} kinds and {len(heads)} head words")
    main = torch.linalg.svd(told, full_matrices=False).Vh[: count - len(kinds) - len(heads)]
    return torch.cat([is_kind + HEAD * is_head @ of_kind.T, is_head, told @ main.T], 1)


def head(kind: str) -> str:
    """ "animal, bird" -> "animal"."""
    return kind.split(",")[0]


def words(item: EmojiItem) -> set[str]:
    """Of its name, and its keywords as they are."""
    return {*item.keywords, *item.more_keywords, *item.name.split()}


def solved(seen: Tensor, wanted: Tensor, weights: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Slopes [channels, targets] of a weighted ridge regression, a drawing's views sharing its weight, and what to add so that
    the mean drawing scores zero."""
    centre = (weights[:, None, None] * seen).mean((0, 1))
    apart = seen - centre
    weighed = apart * weights[:, None, None] / seen.shape[1]
    square = torch.einsum("nvc,nvd->cd", weighed, apart) + ridge * torch.eye(seen.shape[2], dtype=seen.dtype)
    slopes = torch.linalg.solve(
        square, torch.einsum("nvc,nk->ck", weighed, wanted - (weights[:, None] * wanted).mean(0))
    )
    return slopes, -centre @ slopes
