"""Label permutation: an attack's own scores with the names of the two sides shuffled; what is left is chance."""

from collections.abc import Sequence

import numpy as np

from fedrand.audit.statistics import Sample


def permuted(samples: Sequence[Sample], rng: np.random.Generator) -> list[Sample]:
    """Each unit's groups dealt anew to the two sides, as many to each as before; no group is parted."""
    return [_permuted(sample, rng) for sample in samples]


def _permuted(sample: Sample, rng: np.random.Generator) -> Sample:
    scores = np.concatenate([sample.members, sample.others])
    groups = np.array([*sample.member_groups, *sample.other_groups])
    order = rng.permutation(np.unique(groups))
    inside = np.isin(groups, order[: len(set(sample.member_groups))])
    return Sample(scores[inside], groups[inside].tolist(), scores[~inside], groups[~inside].tolist())
