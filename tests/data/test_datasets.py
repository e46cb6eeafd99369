"""The paper's datasets by name: parts drawn by the seed, published splits kept, prompts put where they belong."""

from itertools import combinations
from pathlib import Path

import pytest
from mini_datasets import coco_folder, dump, nocaps_folder, outline, problem, scienceqa_folder

from fedrand.data import DataError, Example
from fedrand.datasets import load_dataset, parts
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.settings import DataTable

SILENT = Progress()


def table(**values) -> DataTable:
    return DataTable.model_validate(values)


def numbered(groups: list[str]) -> tuple[Example, ...]:
    return tuple(Example(f"e{i:03d}", None, "coco", "x", ("x",), group=group) for i, group in enumerate(groups))


def test_parts_are_disjoint_of_the_asked_size_in_order_and_keep_groups_whole():
    examples = numbered([f"g{i // 2}" for i in range(100)])
    found = parts(examples, (50, 10, 20), stream(0))
    assert [len(part) for part in found] == [50, 10, 20]
    assert all([e.id for e in part] == sorted(e.id for e in part) for part in found)
    assert not any({e.unit for e in a} & {e.unit for e in b} for a, b in combinations(found, 2))


def test_a_group_that_does_not_fit_whole_is_left_out():
    pairs = numbered([f"g{i // 2}" for i in range(40)])
    assert [len(part) for part in parts(pairs, (5, 3), stream(0))] == [4, 2]


def test_fewer_examples_are_parted_in_the_same_proportions():
    assert [len(part) for part in parts(numbered([""] * 24), (50_000, 5_000, 5_000), stream(0))] == [20, 2, 2]


def test_the_seed_draws_the_parts():
    first, again, other = (parts(numbered([""] * 60), (10, 5, 5), stream(seed)) for seed in (0, 0, 1))
    assert first == again != other


def coco(tmp_path: Path, **values) -> DataTable:
    folder = coco_folder(tmp_path / "coco", [outline(n, (1, 18)[n % 2]) for n in range(9, 33)], images=24)
    return table(name="coco", path=str(folder), **values)


def test_coco_is_parted_by_the_seed_and_nocaps_is_out_of_domain(tmp_path: Path):
    asked = coco(tmp_path, ood_path=str(nocaps_folder(tmp_path / "nocaps")), validation=True)
    found = load_dataset(asked, 0, SILENT)
    assert {name: len(examples) for name, examples in found.splits.items()} == {"test": 2, "validation": 2, "ood": 6}
    assert len(found.pool) == 20 and {e.label for e in found.pool} == {"person", "dog"}
    assert not found.questions
    assert load_dataset(asked, 0, SILENT) == found != load_dataset(asked, 1, SILENT)


def test_an_out_of_domain_split_without_images_is_refused(tmp_path: Path):
    (tmp_path / "nocaps").mkdir()
    folder = nocaps_folder(tmp_path / "nocaps", images=1)  # one in-domain image
    for table in (dict(domain="near-domain"), dict()):
        if not table:
            dump(folder / "nocaps_val_4500_captions.json", {"images": [], "annotations": []})
        with pytest.raises(DataError, match=r"nocaps.* holds no image"):
            load_dataset(coco(tmp_path, ood_path=str(folder), **table), 0, SILENT)


def test_validation_is_set_apart_and_measured_only_when_asked(tmp_path: Path):
    found = load_dataset(coco(tmp_path), 0, SILENT)
    assert (len(found.pool), list(found.splits)) == (20, ["test"])


def test_one_domain_of_nocaps_is_out_of_domain(tmp_path: Path):
    asked = coco(tmp_path, ood_path=str(nocaps_folder(tmp_path / "nocaps")), domain="out-domain")
    assert {e.label for e in load_dataset(asked, 0, SILENT).splits["ood"]} == {"out-domain"}


def test_nocaps_alone_sets_a_share_apart(tmp_path: Path):
    found = load_dataset(table(name="nocaps", path=str(nocaps_folder(tmp_path, images=10))), 0, SILENT)
    assert (len(found.pool), len(found.splits["test"])) == (8, 2)


def scienceqa(tmp_path: Path, **values) -> DataTable:
    problems = {str(n): problem(image="image.png" if n % 2 else None, hint=str(n)) for n in range(6)}
    problems |= {"6": problem(split="val"), "7": problem(split="test", image="image.png"), "8": problem(split="test")}
    return table(name="scienceqa", path=str(scienceqa_folder(tmp_path, problems, {"7": 1})), **values)


def test_scienceqa_keeps_its_published_splits_and_counts_pictures_on_both_sides(tmp_path: Path):
    said = []
    found = load_dataset(scienceqa(tmp_path, validation=True), 0, Progress(said.append))
    assert (len(found.pool), {name: len(some) for name, some in found.splits.items()}) == (
        6,
        {"test": 2, "validation": 1},
    )
    assert found.questions == {"asked": found.splits["test"]}
    assert [event.text for event in said] == [
        "scienceqa: 6 questions to train on, 2 to test on; 1 of these share a picture with one trained on"
    ]


def test_the_papers_printed_prompt_is_put_on_questions(tmp_path: Path):
    found = load_dataset(scienceqa(tmp_path, prompt="scienceqa-printed"), 0, SILENT)
    everything = (*found.pool, *found.splits["test"], *found.questions["asked"])
    assert {e.prompt for e in everything} == {"scienceqa-printed"}


def test_a_prompt_for_captions_leaves_questions_as_they_are():
    found = load_dataset(table(name="emoji", prompt="See {image}:", limit=20), 0, SILENT)
    assert {e.prompt for e in found.pool} == {"See {image}:"}
    assert {e.prompt for e in found.questions["kind"]} == {"scienceqa"}


def test_a_prompt_that_would_never_be_used_is_refused(tmp_path: Path):
    with pytest.raises(
        DataError, match=r"prompt 'coco' has no \{question\} or \{options\} slot; scienceqa would never"
    ):
        load_dataset(scienceqa(tmp_path / "a", prompt="coco"), 0, SILENT)
    with pytest.raises(DataError, match="prompt 'scienceqa' has a question's slot, but these are captions; coco"):
        load_dataset(coco(tmp_path / "b", prompt="scienceqa"), 0, SILENT)


def test_a_dataset_without_a_test_example_is_refused(tmp_path: Path):
    folder = scienceqa_folder(tmp_path, {"1": problem()})
    with pytest.raises(DataError, match="leaves no example to test on"):
        load_dataset(table(name="scienceqa", path=str(folder)), 0, SILENT)
