"""The emoji pack that ships: splits, captions, drawings, and the multiple-choice tasks."""

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from fedrand.data import DataError, EmojiPack, emoji_qa, load_emoji

TASKS = ("kind", "name", "name-hard")


@pytest.fixture(scope="module")
def pack() -> EmojiPack:
    return load_emoji()


def values(pack: EmojiPack, split: str, field: str) -> set[str]:
    return {getattr(example, field) for example in pack[split]}


@pytest.mark.parametrize("field", ["group", "answer", "id"])
def test_no_two_splits_share_a_group_a_caption_or_an_image(pack: EmojiPack, field: str):
    for left, right in combinations(pack.splits, 2):
        assert not values(pack, left, field) & values(pack, right, field)


def test_ood_subcategories_and_their_kinds_occur_in_no_other_split(pack: EmojiPack):
    kinds = {split: {pack.items[e.id].kind for e in examples} for split, examples in pack.splits.items()}
    assert len(values(pack, "ood", "sublabel")) == 11
    for split in set(pack.splits) - {"ood"}:
        assert not values(pack, "ood", "sublabel") & values(pack, split, "sublabel")
        assert not kinds["ood"] & kinds[split]


def test_the_pack_has_the_sizes_that_its_users_count_on(pack: EmojiPack):
    groups = {split: len(values(pack, split, "group")) for split in pack.splits}
    images = {split: len(examples) for split, examples in pack.splits.items()}
    assert groups == {"base": 602, "validation": 60, "federated": 660, "test": 184, "ood": 171}
    assert images == {"base": 1936, "validation": 124, "federated": 1570, "test": 402, "ood": 342}


def test_only_the_base_split_holds_drawings_by_fluent(pack: EmojiPack):
    vendors = {split: {e.id.split("/")[0] for e in examples} for split, examples in pack.splits.items()}
    assert vendors.pop("base") == {"noto", "twemoji", "fluent"}
    assert all(found == {"noto", "twemoji"} for found in vendors.values())


def test_every_caption_is_plain_words_and_the_first_two_start_with_kind_and_name(pack: EmojiPack):
    for item in pack.items.values():
        first, second, third = item.references
        assert third == f"{item.kind}, {item.name}"
        assert all(re.fullmatch(r"[a-z0-9 ,-]+", caption) for caption in item.references)
        assert all(caption.startswith(f"{item.kind}, {item.name}") for caption in (first, second))
        assert all(3 <= len(caption.split(", ")) <= 6 for caption in (first, second))


def test_variants_of_one_concept_share_a_group_and_a_caption(pack: EmojiPack):
    running = [e for e in pack.items if e.startswith("noto/1f3c3")]
    assert len(running) == 6
    assert len({pack.items[e].references for e in running}) == 1
    assert len({pack.items[e].group for e in running}) == 1


def test_flags_with_the_same_drawing_share_a_group(pack: EmojiPack):
    norway, bouvet = pack.items["noto/1f1f3-1f1f4"], pack.items["noto/1f1e7-1f1fb"]
    assert norway.group == bouvet.group and norway.name != bouvet.name


def test_every_drawing_loads_as_64_pixel_rgb_and_is_not_blank(pack: EmojiPack):
    for examples in pack.splits.values():
        for example in examples[::7]:
            image = example.image.load()
            assert (image.mode, image.size) == ("RGB", (64, 64))
            assert np.asarray(image).std() > 0, example.id


def test_an_unknown_split_or_task_is_named_with_what_there_is(pack: EmojiPack):
    with pytest.raises(DataError, match="no split 'train'; choose from base"):
        pack["train"]
    with pytest.raises(DataError, match="unknown emoji task 'colour'; choose from kind, name, name-hard"):
        emoji_qa(pack, "colour", "test")


@pytest.mark.parametrize("split", ["test", "ood", "validation"])
@pytest.mark.parametrize("task", TASKS)
def test_the_answer_is_one_of_four_distinct_choices(pack: EmojiPack, task: str, split: str):
    asked = emoji_qa(pack, task, split)
    assert len(asked) >= 0.9 * len(pack[split])
    for example in asked:
        assert len(set(example.choices)) == 4 and example.answer in example.choices
        assert example.prompt == "scienceqa" and example.question
        assert example.references == (example.answer,)


@pytest.mark.parametrize("task", TASKS)
def test_every_position_holds_the_answer_about_equally_often(pack: EmojiPack, task: str):
    asked = [e for split in ("federated", "test") for e in emoji_qa(pack, task, split)]
    counts = Counter(e.choices.index(e.answer) for e in asked)
    expected = len(asked) / 4
    assert all(abs(counts[place] - expected) < 4 * np.sqrt(expected * 0.75) for place in range(4))


def test_each_task_draws_its_wrong_choices_from_where_it_says(pack: EmojiPack):
    by_name = {item.name: item for item in pack.items.values()}
    for example in emoji_qa(pack, "name", "test"):
        wrong = [by_name[choice] for choice in example.choices if choice != example.answer]
        assert all(item.category != example.label and item.split == "test" for item in wrong)
    for example in emoji_qa(pack, "name-hard", "test"):
        assert {by_name[choice].subcategory for choice in example.choices} == {example.sublabel}
    seen = {pack.items[e.id].kind for e in pack["ood"]}
    assert all(set(example.choices) <= seen for example in emoji_qa(pack, "kind", "ood"))


def test_a_seed_gives_the_same_questions_and_another_seed_others(pack: EmojiPack):
    first = emoji_qa(pack, "name", "test")
    assert first == emoji_qa(pack, "name", "test")
    assert first != emoji_qa(pack, "name", "test", seed=1)
