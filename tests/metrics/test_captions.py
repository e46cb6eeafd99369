"""The seven scores together against coco-caption's: on a small world here and on the shared fixtures."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fedrand.metrics import CaptionScores, bleu_scores, caption_scores, cider_scores, rouge_l, tokenize

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"

# scored by pycocoevalcap 1.2 and its Java tokenizer; it lacks CIDEr-R, which test_cider checks
SMALL_WORLD = [
    (
        "A small dog runs on the beach.",
        ["A dog is running along the beach.", "A small brown dog runs on the sand, near the sea."],
    ),
    ("Two cats sit on the the sofa", ["Two cats sit on a sofa.", "The cats don't move from the sofa."]),
    ("A man's red bike", ["A red bike leans against the wall (outside).", "Somebody's bike by a wall."]),
    ("", ["An empty street at 5 p.m.", "A street without people."]),
]
SMALL_WORLD_BLEU = (0.7675178540657182, 0.6234032232925618, 0.4592770766602969, 0.353961455077662)
SMALL_WORLD_ROUGE_L = 0.462367004649483
SMALL_WORLD_CIDER_D = 1.7111579829965726

KNOWN = {
    "B": CaptionScores(
        0.6276747504,
        0.4293918915,
        0.2974174424,
        0.2045432164,
        0.4681081692082423,
        0.5851961912728217,
        0.6404469608006622,
    ),
    "C": CaptionScores(
        0.5879868606,
        0.3956163513,
        0.2757908126,
        0.1904402998,
        0.4484581179056459,
        0.4963867200782366,
        0.5362733265740528,
    ),
}

needs_fixtures = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="no folder shared/fixtures beside the checkout (captions with known scores)"
)


class Captions(NamedTuple):
    images: list[str]
    hypotheses: list[str]
    references: list[list[str]]


def _read(name: str) -> Any:
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))


def _tokenised(candidates: str) -> Captions:
    pairs = _read(f"tok_abstract_cands{candidates}.json")
    images = list(pairs["g"])
    return Captions(images, [pairs["r"][image][0] for image in images], [pairs["g"][image] for image in images])


def _raw(candidates: str, images: Sequence[str]) -> Captions:
    """The same images' texts: the first candidate and the first five references."""
    references: dict[str, list[str]] = {}
    for entry in _read("abstract48S.json"):
        references.setdefault(entry["image_id"], []).append(entry["caption"])
    hypotheses: dict[str, str] = {}
    for entry in _read(f"abstract_cands{candidates}.json"):
        hypotheses.setdefault(entry["image_id"], entry["caption"])
    return Captions(list(images), [hypotheses[image] for image in images], [references[image][:5] for image in images])


@needs_fixtures
@pytest.mark.parametrize("candidates", KNOWN)
def test_scores_of_tokenised_captions_are_the_known_ones(candidates: str) -> None:
    captions = _tokenised(candidates)
    scores = caption_scores(captions.hypotheses, captions.references, tokenizer=str.split)
    assert scores == pytest.approx(KNOWN[candidates], abs=1e-9)


@needs_fixtures
@pytest.mark.parametrize("candidates", KNOWN)
def test_scores_from_raw_text_are_the_known_ones(candidates: str) -> None:
    captions = _raw(candidates, _tokenised(candidates).images)
    scores = caption_scores(captions.hypotheses, captions.references)
    assert scores == pytest.approx(KNOWN[candidates], abs=1e-9)


@needs_fixtures
@pytest.mark.parametrize("candidates", KNOWN)
def test_our_tokens_are_the_java_tokens_of_every_fixture_caption(candidates: str) -> None:
    tokenised = _tokenised(candidates)
    raw = _raw(candidates, tokenised.images)
    assert [tokenize(text) for text in raw.hypotheses] == [text.split() for text in tokenised.hypotheses]
    for texts, java in zip(raw.references, tokenised.references, strict=True):
        assert [tokenize(text) for text in texts] == [text.split() for text in java]


def test_a_small_world_scores_what_coco_caption_gives() -> None:
    scores = caption_scores([text for text, _ in SMALL_WORLD], [refs for _, refs in SMALL_WORLD])
    assert scores[:4] == pytest.approx(SMALL_WORLD_BLEU, abs=1e-12)
    assert scores.rouge_l == pytest.approx(SMALL_WORLD_ROUGE_L, abs=1e-12)
    assert scores.cider_d == pytest.approx(SMALL_WORLD_CIDER_D, abs=1e-12)


def test_each_field_is_the_metric_of_that_name() -> None:
    hypotheses, references = [text for text, _ in SMALL_WORLD], [refs for _, refs in SMALL_WORLD]
    tokens = [tokenize(text) for text in hypotheses], [[tokenize(ref) for ref in refs] for refs in references]
    scores = caption_scores(hypotheses, references)
    assert scores == (*bleu_scores(*tokens), rouge_l(*tokens), *cider_scores(*tokens))


def test_equal_captions_reach_every_maximum() -> None:
    texts = ["A red dog runs.", "Two cats sit still!"]
    assert caption_scores(texts, [[text] for text in texts]) == pytest.approx([1] * 5 + [10] * 2, abs=1e-8)


def test_the_tokenizer_forgives_case_and_punctuation_and_a_split_does_not() -> None:
    hypotheses, references = ["A red dog runs.", "x"], [["a red dog runs"], ["y"]]
    assert caption_scores(hypotheses, references).rouge_l == pytest.approx(0.5)
    assert caption_scores(hypotheses, references, tokenizer=str.split).rouge_l == pytest.approx(0.25)


def test_captions_with_nothing_in_them_score_zero() -> None:
    assert caption_scores(["", "."], [["a dog"], ["a cat"]]) == (0,) * 7


MISTAKES = {
    "2 hypotheses but 1 reference lists": (["a", "b"], [["a"]]),
    "no images to score": ([], []),
    "image 1 has no references": (["a", "b"], [["a"], []]),
    "references of image 0 are one string": (["a dog"], ["a dog"]),
}


@pytest.mark.parametrize(("message", "captions"), MISTAKES.items())
def test_a_mistake_in_the_pairing_is_refused_by_name(message: str, captions: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match=message):
        caption_scores(*captions)


@pytest.mark.parametrize("metric", [bleu_scores, rouge_l, cider_scores])
def test_every_metric_refuses_an_image_without_references(metric: Any) -> None:
    with pytest.raises(ValueError, match="image 0 has no references"):
        metric([["a"]], [[]])
