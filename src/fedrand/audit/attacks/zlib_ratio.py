"""zlib (Carlini et al., 2021): how surprising a text is to the model against how surprising it is to a compressor."""

import zlib

from fedrand.score import TokenScores


def zlib_ratio(model: TokenScores, text: str) -> float:
    """Minus the answer's negative log-likelihood, summed over its tokens and its end, nats, by the bytes of the text
    (UTF-8, no space in front) as zlib packs it at its default level."""
    return float(model.logp.sum()) / len(zlib.compress(text.encode()))
