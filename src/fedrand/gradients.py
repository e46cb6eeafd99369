"""Each example's own gradient, for the attacks that compare it with what a client sent."""

from collections.abc import Iterator, Sequence

import numpy as np

from fedrand.batch import answer_hidden, collate
from fedrand.lora import Adapter
from fedrand.models.encoding import Encoded
from fedrand.models.features import ImageFeatures
from fedrand.models.runtime import torch
from fedrand.params import Key, Params


def factor_gradients(
    adapter: Adapter,
    features: ImageFeatures,
    encoded: Sequence[Encoded],
    params: Params,
    batch_size: int = 32,
) -> Iterator[dict[Key, np.ndarray]]:
    """The gradient of each example's loss (mean over its answer tokens) at `params`, every key, in the order given.

    One backward pass per batch: no example's tokens reach another's. Leaves `params` in the adapter.
    """
    adapter.load(params)
    for start in range(0, len(encoded), batch_size):
        rows, _ = gradient_rows(adapter, features, encoded[start : start + batch_size])
        yield from map(adapter.named, rows)


def gradient_rows(
    adapter: Adapter, features: ImageFeatures, encoded: Sequence[Encoded]
) -> tuple[np.ndarray, np.ndarray]:
    """One batch's gradients [examples, parameters] and losses [examples], nats per answer token, under the adapter as
    it is."""
    vlm = adapter.vlm
    batch = collate(vlm, features, encoded)
    counts = torch.tensor(batch.counts, device=vlm.device)
    with adapter.per_example(len(encoded)) as rows:
        logits = vlm.head(answer_hidden(vlm, batch))
        losses = torch.nn.functional.cross_entropy(logits, batch.targets, reduction="none")
        shares = losses / counts.repeat_interleave(counts)
        shares.sum().backward()
    sums = [float(share.sum()) for share in shares.detach().split(batch.counts)]
    return rows.cpu().numpy(), np.array(sums)
