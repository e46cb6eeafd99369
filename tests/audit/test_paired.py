"""Scores by item that an audit keeps: enough for the difference of two audits, and nobody's text."""

import json
from dataclasses import replace

import numpy as np
import pytest
from score_worlds import lone

from fedrand.audit.paired import Paired, kept, paired, scores, unlike
from fedrand.audit.rows import Row, Sides, sampled
from fedrand.audit.statistics import paired_delong, two_level_difference
from fedrand.data.example import Example

KEY = ("T3", "client", "LiRA", "answer")


def sides(count=30, tag=""):
    """Two clients; examples two by two are variants of one thing."""

    def some(client, side):
        return tuple(
            Example(f"{client}{side}{n}{tag}", None, "secret?", "a secret", ("a secret",), group=f"{side}{n // 2}")
            for n in range(count)
        )

    return {name: Sides(some(name, "m"), some(name, "o")) for name in ("north", "south")}


def audit(shift, dealt, **more):
    shared, own = np.random.default_rng(0), np.random.default_rng(int(100 * shift))

    def score(client, example):
        member = example.id.startswith((f"{client}m",))
        return float(shared.normal() + 0.3 * own.normal() + shift * member)

    samples = sampled(dealt, score)
    rows = [
        Row(*KEY, samples),
        Row("T0", "server", "reference", "answer", samples, headline=True),
        Row("T0", "server", "loss", "answer", samples),
        Row("Tinf", "oracle", "reference", "answer", samples, headline=True),
        Row("T3", "update", "gradient cosine", "last upload", reason="no upload was taken", headline=True),
    ]
    lines = [{"applies": False}, {"applies": True, "level": 0.9}]
    found = {"provenance": {"data": {"fingerprint": "ab"}}, "protocols": {"P1": {"rows": lines}}}
    return samples, json.loads(json.dumps(found | {"scores": kept(rows, dealt)})) | more


def test_the_difference_of_two_audits_is_that_of_their_scores():
    ours, first = audit(1.0, sides())
    theirs, other = audit(0.2, sides())
    found = paired(scores(first), scores(other), KEY)
    both = [*theirs.values()], [*ours.values()]
    assert found.drawn == pytest.approx(two_level_difference(*both, 0.9))
    assert found.given == pytest.approx(paired_delong(*both, 0.9))
    assert found.resolved and found.drawn.value < 0


def test_of_the_same_scores_the_difference_is_nothing():
    (_, first), (_, other) = audit(1.0, sides()), audit(1.0, sides())
    found = paired(scores(first), scores(other), KEY)
    assert (found.drawn.value, found.given.p, found.resolved) == (0, 1, False)


def test_headlines_and_named_attacks_are_kept_and_no_text():
    _, found = audit(1.0, sides())
    assert [row["attack"] for row in found["scores"]["rows"]] == ["LiRA", "reference"]
    text = json.dumps(found["scores"])
    assert "secret" not in text and "northm0" not in text
    assert found["scores"]["clients"]["north"]["members"]["groups"][:4] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("dealt", "reason"),
    [
        (sides(tag="x"), "other items of north, south"),
        (sides(count=28), "other items of north, south"),
        ({"north": sides()["north"]}, "other clients (south in one alone)"),
    ],
)
def test_audits_of_other_items_are_told_apart(dealt, reason):
    (_, first), (_, other) = audit(1.0, sides()), audit(1.0, dealt)
    assert unlike(scores(first), scores(first)) == ""
    assert unlike(scores(first), scores(other)) == reason
    assert unlike(scores(first), replace(scores(first), data="cd")) == "other data"


def test_a_row_that_one_audit_lacks_has_no_difference():
    (_, first), (_, other) = audit(1.0, sides()), audit(1.0, sides())
    del other["scores"]["rows"][0]
    assert paired(scores(first), scores(other), KEY) == "one of the two has no such figure"
    assert scores({}) is None


def test_a_difference_covers_the_truth_in_95_percent_of_audits():
    rng, hits = np.random.default_rng(3), 0
    for _ in range(300):
        shared = rng.normal(size=(2, 80))
        one, two = (shared + 0.5 * rng.normal(size=(2, 80)) for _ in range(2))
        found = Paired(*(f([lone(*one)], [lone(*two)]) for f in (two_level_difference, paired_delong)))
        hits += not found.resolved
    assert 275 <= hits <= 296
