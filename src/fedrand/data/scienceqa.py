"""ScienceQA (Lu et al., 2022) as published: problems.json, pid_splits.json, images/SPLIT/ID/image.png."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedrand.data.annotations import first_of, image_in, need, read_json
from fedrand.data.example import DataError, Example
from fedrand.data.twins import grouped

SPLITS = ("train", "val", "test")
_COLUMNS = ("question", "choices", "answer", "hint", "image", "topic")


def load_scienceqa(path: Path | str) -> list[Example]:
    """The questions of train, val and test, with an image and without; `split` says which; opens no image.

    The answer is the right choice's text, the label its topic. Questions about copies of one picture share a group, and
    so do those without a picture that ask the same. DataError names the place and the remedy.
    """
    folder = Path(path)
    problems_file = first_of([folder / "problems.json"], Path.is_file, "annotation file")
    splits_file = first_of([folder / "pid_splits.json"], Path.is_file, "annotation file")
    problems, splits = read_json(problems_file), read_json(splits_file)
    need(splits, SPLITS, str(splits_file))
    pictures = folder / "images" if (folder / "images").is_dir() else folder
    examples: list[Example] = []
    for split in SPLITS:
        for number in map(str, splits[split]):
            place = f"{problems_file}, problem {number}"
            if number not in problems:
                raise DataError(f"{place} is not there though {splits_file.name} lists it; get both files again")
            examples.append(_example(number, split, problems[number], pictures, place))
    return grouped(examples)


def _example(number: str, split: str, problem: Mapping[str, Any], pictures: Path, place: str) -> Example:
    need(problem, _COLUMNS, place)
    choices = tuple(" ".join(str(choice).split()) for choice in problem["choices"])
    right = problem["answer"]
    if not isinstance(right, int) or not 0 <= right < len(choices):
        raise DataError(f"{place} answers with none of its {len(choices)} choices; get the original file")
    example = Example(
        id=f"scienceqa/{number}",
        image=image_in(pictures, f"{split}/{number}/{problem['image']}") if problem["image"] else None,
        prompt="scienceqa",
        answer=choices[right],
        references=(choices[right],),
        label=str(problem["topic"]),
        question=str(problem["question"]).strip(),
        hint=str(problem["hint"] or "").strip(),
        choices=choices,
        split=split,
    )
    return example if example.image else replace(example, group=_asked(example))


def _asked(example: Example) -> str:
    """A name for what a question without a picture asks, whatever the order of its choices."""
    text = json.dumps([example.question, example.hint, sorted(example.choices)])
    return f"text-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
