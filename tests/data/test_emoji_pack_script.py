"""scripts/build_emoji_pack.py on a small world: variants, words, twins, splits, and the same bytes twice."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
if not SCRIPTS.exists():
    pytest.skip("scripts are not part of a source distribution", allow_module_level=True)
sys.path.insert(0, str(SCRIPTS))

import build_emoji_pack as builder  # noqa: E402
from emoji_pack.captions import captions, words  # noqa: E402
from emoji_pack.kinds import KINDS, UNSEEN  # noqa: E402
from emoji_pack.sources import Entry  # noqa: E402
from emoji_pack.variants import concept  # noqa: E402


def entry(code: str, subcategory: str = "country-flag", name: str = "flag: Norway") -> Entry:
    return Entry(code, concept(code), "flags", subcategory, name, ("flag", "north", "ily"), ("banner", "north"))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("1F3C3-200D-2640-FE0F-200D-27A1-FE0F", "1F3C3"),  # woman running to the right
        ("1F468-200D-1F373", "1F9D1-200D-1F373"),  # man cook
        ("1F468-200D-1F469-200D-1F467-200D-1F466", "1F46A"),  # a family
        ("1F469", "1F9D1"),  # woman
        ("1F642-200D-2194-FE0F", "1F642-200D-2194"),  # head shaking: no variant
        ("2708-FE0F", "2708"),
    ],
)
def test_variants_of_gender_direction_and_family_are_one_concept(code: str, expected: str):
    assert concept(code) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flag: C\u00f4te d\u2019Ivoire", "cote divoire"),
        ("keycap: #", "hash"),
        ("Japanese \u201chere\u201d button", "japanese here button"),
        ("flag_congo - kinshasa", "flag congo kinshasa"),
        ("e-mail", "e-mail"),
    ],
)
def test_words_are_lower_case_and_plain(text: str, expected: str):
    assert words(text) == expected


def test_a_caption_has_kind_name_and_keywords_that_add_something_the_most_shared_first():
    other = replace(entry("1F1EB-1F1EE"), cldr=("north",), emojilib=())
    fields = captions([entry("1F1F3-1F1F4"), other])["1F1F3-1F1F4"]
    assert fields["references"] == [
        "flag, country, norway, north",
        "flag, country, norway, north, banner",
        "flag, country, norway",
    ]


def test_concepts_with_the_same_drawing_are_one_group():
    entries = [entry("A"), entry("B"), entry("C")]
    drawing = np.zeros((64, 64, 3), np.uint8)
    pixels = {("noto", "A"): drawing, ("noto", "B"): drawing, ("noto", "C"): drawing + 1}
    assert builder.group(entries, pixels) == {"A": "a", "B": "a", "C": "c"}


def test_unseen_subcategories_go_to_ood_and_the_rest_is_shuffled_into_splits_of_given_sizes():
    entries = [entry(f"E{i}") for i in range(1000)] + [entry(f"O{i}", "drink") for i in range(5)]
    splits = builder.assign(entries, {e.concept: e.concept.lower() for e in entries})
    assert {group for group, split in splits.items() if split == "ood"} == {f"o{i}" for i in range(5)}
    sizes = Counter(splits.values())
    assert {name: sizes[name] for name in builder.SIZES} == builder.SIZES and sizes["base"] == 96


def test_the_same_drawings_give_the_same_bytes(tmp_path: Path):
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    items = [{"id": "a", "vendors": ["noto", "fluent"]}]
    for name in ("first", "second"):
        builder.write_images(tmp_path / name, items, {("noto", "A"): noise, ("fluent", "A"): noise})
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_no_kind_is_shared_by_a_seen_and_an_unseen_subcategory():
    assert KINDS.keys() >= UNSEEN
    seen = {kind for subcategory, kind in KINDS.items() if subcategory not in UNSEEN}
    assert not seen & {KINDS[subcategory] for subcategory in UNSEEN}
