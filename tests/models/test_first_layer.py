"""The regression that the tiny model's projector starts as, and how often its kinds are asked, in worlds known by heart."""

import sys
from pathlib import Path

import pytest

from fedrand.data.emoji import EmojiItem
from fedrand.models.runtime import torch

PRETRAINING = Path(__file__).parents[2] / "scripts" / "pretrain_tiny"
if not PRETRAINING.is_dir():
    pytest.skip("scripts are not part of a source distribution", allow_module_level=True)


@pytest.fixture
def pretraining(monkeypatch):
    monkeypatch.syspath_prepend(PRETRAINING)
    import first_layer
    import lessons

    yield first_layer, lessons
    for name in ("first_layer", "lessons"):
        sys.modules.pop(name)


def doubles(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def item(number, kind):
    name = f"thing {number}"
    return EmojiItem(str(number), str(number), "base", "c", "s", ("noto",), kind, name, (name,), ("common",), ())


def test_without_a_penalty_a_line_is_found_again(pretraining):
    first_layer, _ = pretraining
    seen, slopes = doubles(40, 1, 3), doubles(3, 2, seed=1)
    found, start = first_layer.solved(seen, seen[:, 0] @ slopes + 5, torch.ones(40, dtype=torch.float64), 1e-9)
    assert torch.allclose(found, slopes) and torch.allclose(start, -seen.mean((0, 1)) @ slopes)


@pytest.mark.parametrize("views", [1, 3])
def test_the_penalty_shrinks_as_the_closed_form_does_however_many_views_there_are(pretraining, views):
    first_layer, _ = pretraining
    seen = torch.tensor([[[-1.0]], [[1.0]]], dtype=torch.float64).expand(2, views, 1)
    found, _ = first_layer.solved(seen, torch.tensor([[-3.0], [3.0]]).double(), torch.ones(2, dtype=torch.float64), 4.0)
    assert found.item() == pytest.approx(6 / (2 + 4))


def test_a_weight_of_two_is_a_drawing_seen_twice(pretraining):
    first_layer, _ = pretraining
    seen, wanted = doubles(6, 2, 3), doubles(6, 1, seed=2)
    twice = torch.tensor([2.0, 1, 1, 1, 1, 1]).double()
    weighed, _ = first_layer.solved(seen, wanted, twice * 6 / 7, 3.0 * 6 / 7)
    order = [0, 0, 1, 2, 3, 4, 5]
    repeated, _ = first_layer.solved(seen[order], wanted[order], torch.ones(7, dtype=torch.float64), 3.0)
    assert torch.allclose(weighed, repeated)


def test_targets_tell_kinds_then_heads_and_a_drawing_counts_half_for_kinds_of_its_head(pretraining):
    first_layer, _ = pretraining
    items = [item(i, kind) for i, kind in enumerate(["animal, bird", "animal, fish", "food, soup", "food, soup"])]
    told = first_layer.targets(items, 5)
    assert told[:, :3].tolist() == [[1.5, 0.5, 0], [0.5, 1.5, 0], [0, 0, 1.5], [0, 0, 1.5]]
    assert told[:, 3:].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_the_layer_scores_a_drawing_highest_for_its_own_kind_with_outputs_of_variance_one(pretraining):
    first_layer, _ = pretraining
    kinds = ["animal, bird", "food, soup", "sign, arrow"]
    items = [item(i, kinds[i % 3]) for i in range(30)]
    seen = torch.stack([torch.eye(3)[i % 3].expand(2, 3) for i in range(30)]) + 0.1 * doubles(30, 2, 3).float()
    layer = torch.nn.Linear(3, 6)
    first_layer.aim(layer, seen, items, ridge=1.0)
    scores = layer(seen[:, 0])
    assert scores[:, :3].argmax(1).tolist() == [i % 3 for i in range(30)]
    assert torch.allclose(scores.std(0), torch.ones(6), atol=1e-4)


@pytest.mark.parametrize(("balance", "expected"), [(0, {"a": 0.4, "b": 0.4}), (1, {"a": 0.25, "b": 1.0})])
def test_kinds_are_asked_as_often_as_the_balance_says(pretraining, balance, expected):
    _, lessons = pretraining
    shares = lessons.kind_shares({"a": 8, "b": 2}, lessons.Mixture(kinds=0.4, balance=balance))
    assert shares == pytest.approx(expected)


def test_a_kind_with_few_drawings_weighs_more_by_the_root_of_how_few(pretraining, monkeypatch):
    first_layer, _ = pretraining
    weighed = []

    def solved(seen, wanted, weights, ridge):
        weighed.extend(weights.tolist())
        return doubles(3, 4), torch.zeros(4, dtype=torch.float64)

    monkeypatch.setattr(first_layer, "solved", solved)
    items = [item(i, kind) for i, kind in enumerate(["animal, bird"] * 4 + ["food, soup"])]
    first_layer.aim(torch.nn.Linear(3, 4), doubles(5, 1, 3), items, ridge=1.0)
    assert weighed[4] / weighed[0] == pytest.approx(2) and sum(weighed) == pytest.approx(5)


def test_a_layer_too_small_for_the_kinds_is_refused(pretraining):
    first_layer, _ = pretraining
    with pytest.raises(ValueError, match="3 outputs are too few for 2 kinds and 2 head words"):
        first_layer.targets([item(0, "animal, bird"), item(1, "food, soup")], 3)


@pytest.mark.parametrize("shares", [{"kinds": 1.0, "names": 0.0}, {"kinds": 0.8, "names": 0.5}, {"kinds": -0.1}])
def test_shares_of_lessons_that_do_not_add_up_are_refused(pretraining, shares):
    _, lessons = pretraining
    with pytest.raises(ValueError, match="shares of lessons"):
        lessons.Mixture(**shares)
