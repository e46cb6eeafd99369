"""NoCaps as published: its domains, and copies without them refused."""

import json
from pathlib import Path

import pytest
from mini_datasets import nocaps_folder

from fedrand.data import DataError
from fedrand.data.nocaps import load_nocaps


def test_every_image_has_ten_captions_and_its_domain_as_label(tmp_path: Path):
    examples = load_nocaps(nocaps_folder(tmp_path))
    assert [e.label for e in examples] == ["in-domain", "near-domain", "out-domain"] * 2
    assert {len(e.references) for e in examples} == {10}
    assert (examples[1].id, examples[1].answer) == ("nocaps/1", "Something odd 1, again 0.")


def test_one_domain_is_taken_alone(tmp_path: Path):
    assert [e.id for e in load_nocaps(nocaps_folder(tmp_path), "out-domain")] == ["nocaps/2", "nocaps/5"]


def test_a_copy_without_domains_is_refused_with_the_remedy(tmp_path: Path):
    nocaps_folder(tmp_path, domain=False)
    with pytest.raises(DataError, match=r"image 0 has no column 'domain' .*; take the original nocaps_val_4500"):
        load_nocaps(tmp_path)


def test_an_unknown_domain_is_named_with_the_choices(tmp_path: Path):
    with pytest.raises(DataError, match="unknown domain 'far'; choose from in-domain, near-domain, out-domain"):
        load_nocaps(tmp_path, "far")


def test_what_is_missing_is_named(tmp_path: Path):
    with pytest.raises(DataError, match=r"no annotation file at .*nocaps_val_4500_captions.json"):
        load_nocaps(tmp_path)
    file = nocaps_folder(tmp_path) / "nocaps_val_4500_captions.json"
    tree = json.loads(file.read_text())
    tree["annotations"] = tree["annotations"][10:]
    file.write_text(json.dumps(tree))
    with pytest.raises(DataError, match="has no caption of image 0"):
        load_nocaps(tmp_path)
