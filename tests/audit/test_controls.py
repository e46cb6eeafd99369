"""Blind controls: what needs no model is found without one, and nothing is found where there is nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fedrand.audit.controls import blind_image, blind_text, confounded
from fedrand.audit.controls import logistic as regression
from fedrand.audit.controls.logistic import Part, cross_fitted, logistic
from fedrand.audit.statistics import Interval, Sample, auroc, two_level_interval
from fedrand.data.example import Example, ImageSource

WORDS = [f"word{i}" for i in range(40)]


def texts(rng, count, name, words=WORDS, length=5):
    made = []
    for number in range(count):
        answer = " ".join(rng.choice(words, length))
        made.append(Example(f"{name}{number}", None, "coco", answer, (answer,), group=f"{name}{number // 2}"))
    return made


def sampled(scores, members, others) -> Sample:
    sides = ([np.array([scores[e.id] for e in side]), [e.unit for e in side]] for side in (members, others))
    return Sample(*(part for side in sides for part in side))


def interval(scores, members, others) -> Interval:
    return two_level_interval([sampled(scores, members, others)])


def test_a_shifted_text_set_is_flagged_without_any_model():
    rng = np.random.default_rng(0)
    members, others = texts(rng, 80, "m"), texts(rng, 80, "o", WORDS[20:])
    found = interval(blind_text(members, others, rng), members, others)
    assert found.auroc > 0.8 and confounded(found)


def test_longer_texts_alone_are_flagged():
    rng = np.random.default_rng(1)
    members, others = texts(rng, 80, "m", length=5), texts(rng, 80, "o", length=7)
    assert confounded(interval(blind_text(members, others, rng), members, others))


def test_texts_of_one_distribution_are_a_coin_and_seldom_flagged():
    aurocs, flags = [], 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        members, others = texts(rng, 60, "m"), texts(rng, 60, "o")
        found = interval(blind_text(members, others, rng), members, others)
        aurocs.append(found.auroc)
        flags += confounded(found)
    assert np.mean(aurocs) == pytest.approx(0.5, abs=0.03) and flags <= 2


def test_a_group_never_helps_to_score_itself(tmp_path):
    # Two copies of each picture of noise: with one in training the other would be told perfectly.
    members, others = (
        [
            replace(painted(tmp_path, f"{side}{i}", 0), id=f"{side}{i}{copy}", group=f"{side}{i}")
            for i in few
            for copy in "xy"
        ]
        for side, few in (("m", range(30)), ("o", range(30, 60)))
    )
    scores = blind_image(members, others, np.random.default_rng(2))
    assert auroc(*(np.array([scores[e.id] for e in side]) for side in (members, others))) < 0.7


def test_the_same_seed_gives_the_same_scores_and_each_example_has_one():
    rng = np.random.default_rng(3)
    members, others = texts(rng, 20, "m"), texts(rng, 30, "o")
    first, again = (blind_text(members, others, np.random.default_rng(4)) for _ in range(2))
    assert first == again and first.keys() == {e.id for e in [*members, *others]}


def painted(folder: Path, name: str, red: int) -> Example:
    pixels = np.random.default_rng(len(name) + int(name[1:])).integers(0, 100, (24, 24, 3), np.uint8)
    pixels[..., 0] += np.uint8(red)
    Image.fromarray(pixels).save(folder / f"{name}.png")
    return Example(name, ImageSource(folder / f"{name}.png"), "coco", "a", ("a",))


def test_redder_pictures_are_flagged_and_equal_ones_are_not(tmp_path):
    members, others = ([painted(tmp_path, f"{side}{i}", red) for i in range(30)] for side, red in (("m", 40), ("o", 0)))
    assert confounded(interval(blind_image(members, others, np.random.default_rng(0)), members, others))
    halves = others[:15], others[15:]
    assert not confounded(interval(blind_image(*halves, np.random.default_rng(0)), *halves))
    with pytest.raises(ValueError, match="1 of 31 examples have no image"):
        blind_image(members, [Example("x", None, "coco", "a", ("a",))], np.random.default_rng(0))


def test_logistic_regression_reaches_the_point_where_the_slope_is_zero():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(60, 3)), np.repeat([1.0, 0.0], 30)
    weights = logistic(Part(x, np.ones(60, bool)), y, penalty=2.0)
    p = 1 / (1 + np.exp(-(x @ weights[:-1] + weights[-1])))
    assert x.T @ (p - y) + 2.0 * weights[:-1] == pytest.approx(np.zeros(3), abs=1e-6)
    assert np.sum(p - y) == pytest.approx(0, abs=1e-6)


def test_a_table_that_is_asked_for_in_portions_is_told_the_same_way(tmp_path, monkeypatch):
    rng = np.random.default_rng(6)
    members, others = texts(rng, 40, "m"), texts(rng, 40, "o", WORDS[20:])
    drawn = [[painted(tmp_path, f"{side}{i}", red) for i in range(20)] for side, red in (("m", 40), ("o", 0))]
    whole, portions = [], []
    for found, size in ((whole, 4096), (portions, 7)):
        monkeypatch.setattr(regression, "PORTION", size)
        found += blind_text(members, others, np.random.default_rng(0)).values()
        found += blind_image(*drawn, np.random.default_rng(0)).values()
    assert portions == pytest.approx(whole, abs=1e-9)


def test_perfectly_parted_classes_stay_finite():
    x, y = np.array([[0.0], [0.1], [5.0], [5.1]]), np.array([0.0, 0.0, 1.0, 1.0])
    assert np.isfinite(cross_fitted(x, y, list("abcd"), np.random.default_rng(0), folds=2)).all()
    with pytest.raises(ValueError, match="cannot be cross-fitted"):
        cross_fitted(x, y, ["a"] * 4, np.random.default_rng(0))


def test_only_a_lower_bound_above_a_coin_is_confounded():
    assert confounded(Interval(0.6, 0.51, 0.7))
    assert not confounded(Interval(0.6, 0.5, 0.7)) and not confounded(Interval(0.4, 0.3, 0.45))
