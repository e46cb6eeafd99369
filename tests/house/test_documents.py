"""What the documents tell a newcomer to type works, and what they link to is there."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fedrand.cli import _parser
from fedrand.recipe import Recipe, differences, load_recipe, shipped

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = {path.name: re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.DOTALL) for path in DOCUMENTS}


def blocks(name, language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT[name], re.DOTALL)


def commands(word):
    """Every line and every piece of inline code that begins with `word` and says more than COMMAND."""
    for text in TEXT.values():
        lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
        inline = re.findall(rf"`({word} [^`\n]+)`", text)
        yield from (line for line in (*lines, *inline) if line.startswith(f"{word} ") and "COMMAND" not in line)


FEDRAND = sorted({" ".join(shlex.split(line, comments=True)[1:]) for line in commands("fedrand")})
MAKE = sorted({word for line in commands("make") for word in shlex.split(line, comments=True)[1:] if "=" not in word})


def test_there_are_commands_to_check():
    assert len(FEDRAND) > 8
    assert {"demo", "test"} <= set(MAKE)


@pytest.mark.parametrize("line", FEDRAND)
def test_a_documented_command_is_understood(line):
    args = _parser().parse_args(shlex.split(line))
    if getattr(args, "recipe", None) in shipped():
        settings = [setting for setting in args.set if setting != "strategy.name=fedsa"]  # the one a reader is to add
        assert isinstance(load_recipe(args.recipe, settings), Recipe)


@pytest.mark.parametrize("target", MAKE)
def test_a_documented_make_target_exists(target):
    assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_recipes_page_has_every_key_with_its_default():
    (block,) = blocks("recipe.md", "toml")
    meant = Recipe.model_validate({"strategy": {"name": "fedrand"}}).model_dump(mode="json")
    assert tomllib.loads(block) == {**meant, "adapter": {**meant["adapter"], "kind": "auto"}}
    named = load_recipe("emoji"), Recipe.model_validate(tomllib.loads(block))
    assert set(differences(*(one.model_dump(mode="json") for one in reversed(named)))) == {
        'adapter.kind was "auto", is "lora"',  # a recipe has it resolved
        "train.lr was 0.0003, is 0.0001",
        "audit.shadows was 2, is 1",
        "audit.uploads was 4, is 3",
    }


def test_the_recipe_in_the_readme_is_one(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(blocks("README.md", "toml")[0])
    assert load_recipe(path).strategy.name == "fedrand"


def test_the_rows_in_the_readme_are_read(tmp_path):
    from PIL import Image

    from fedrand.data.folder import load_folder

    (tmp_path / "x-ray").mkdir()
    for name in ("0001.png", "0002.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / "x-ray" / name)
    (tmp_path / "data.jsonl").write_text(blocks("README.md", "json")[0])
    captioned, asked = load_folder(tmp_path)
    assert (captioned.client, captioned.group, len(captioned.references)) == ("north", "patient-17", 2)
    assert (asked.choices, asked.answer, asked.split) == (("yes", "no"), "no", "test")


def test_the_numpy_example_in_the_readme_runs():
    (code,) = [block for block in blocks("README.md", "python") if "Federation(" in block]
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == [str(round) for round in range(10)]


@pytest.mark.parametrize("code", blocks("README.md", "python"))
def test_what_the_readme_imports_from_fedrand_is_there(code):
    lines = [line for line in code.splitlines() if line.startswith("from fedrand")]
    exec("\n".join(lines), {})


def test_the_strategy_in_contributing_passes_every_property_test(tmp_path):
    (code,) = blocks("CONTRIBUTING.md", "python")
    added = "\n\nfrom fedrand.strategies import STRATEGIES\n\nSTRATEGIES['fedsa'] = fedsa\n"
    (tmp_path / "added_strategy.py").write_text(code + added)
    command = [
        "pytest",
        "-p",
        "added_strategy",
        "-p",
        "no:cacheprovider",
        "tests/core/test_every_strategy.py",
        "-k",
        "fedsa",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout + "0 passed")[0]) >= 16


@pytest.mark.parametrize("name", TEXT)
def test_a_link_or_named_file_is_there(name):
    folder = ROOT / "docs" if (ROOT / "docs" / name).exists() else ROOT
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT[name]):
        assert (folder / target).exists(), target
    for target in re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", TEXT[name]):
        assert (ROOT / target).exists() or target.endswith("fedsa.py"), target


@pytest.mark.parametrize("name", ["architecture.md", "decisions.md"])
def test_a_module_named_in_docs_is_there(name):
    package = ROOT / "src" / "fedrand"
    for target in re.findall(r"`((?:\w+/)*\w+\.py)`", TEXT[name]):
        assert (package / target).exists() or (ROOT / target).exists(), target


def test_an_option_named_in_the_decisions_exists():
    for table, key in re.findall(r"`(strategy|train|evaluate|data|adapter)\.(\w+)(?: = [^`]*)?`", TEXT["decisions.md"]):
        assert key == "py" or key in getattr(load_recipe("emoji"), table).model_dump(), f"{table}.{key}"
