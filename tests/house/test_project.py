"""House rules that a reader would otherwise have to watch: size, dependencies, formats, what nothing may name."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PYTHON = [*SOURCES, *sorted((ROOT / "tests").rglob("*.py"))]
SETUP = [
    ROOT / name for name in ["pyproject.toml", "constraints.txt", "Makefile", ".ci/run", ".pre-commit-config.yaml"]
]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "NOTICE"]
MODULE_OF = {"pillow": "PIL", "dp-accounting": "dp_accounting", "pytest-timeout": "pytest_timeout"}
TOOLS = {"ruff", "pyright", "pytest_timeout"}  # run, never imported
COMPANIONS = {"pydantic_core": "pydantic", "tokenizers": "transformers"}  # the one comes with the other

every_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))


def requirement(text):
    return re.match(r"[\w-]+", text)[0].lower()


def outside(paths):
    """Top-level names of the packages that files import, the library and the files' own folders apart."""
    own = {path.stem for folder in ("src", "tests", "scripts", "benchmarks") for path in (ROOT / folder).rglob("*")}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            tops = {name.split(".")[0] for name in names} - sys.stdlib_module_names - own
            yield from (COMPANIONS.get(top, top) for top in tops)


def declared(*groups):
    texts = [text for group in groups for text in group]
    return {MODULE_OF.get(requirement(text), requirement(text)) for text in texts} - {"fedrand"} - TOOLS


def test_what_the_package_imports_is_what_it_depends_on():
    extras = PROJECT["optional-dependencies"]
    own = [extras[name] for name in extras if name not in ("test", "dev")]
    needed = declared(PROJECT["dependencies"])
    assert needed <= set(outside(SOURCES)) <= needed | declared(*own)


def test_what_the_tests_import_is_declared():
    extras = PROJECT["optional-dependencies"]
    assert set(outside(PYTHON)) <= declared(PROJECT["dependencies"], *extras.values())


def test_every_dependency_is_pinned():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w-]+==[\w.]+", line) for line in lines)
    pinned = {requirement(line).replace("_", "-") for line in lines}
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]
    assert {requirement(text) for text in wanted} - {"fedrand"} <= pinned


@every_source
def test_a_file_is_one_idea_long(path):
    assert len(path.read_text().splitlines()) < 400


@every_source
def test_a_file_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


@every_source
def test_nothing_is_pickled_and_no_error_is_swallowed(path):
    text = path.read_text()
    assert not re.search(r"\b(pickle|allow_pickle|torch\.(save|load)|yaml)\b|(?<![.\w])(eval|exec)\(", text)
    assert not re.search(r"except( Exception| BaseException)?( as \w+)?:\s*\n\s*(pass|continue)\b", text)


@every_source
def test_no_file_is_named_after_nothing(path):
    assert path.stem not in {"utils", "util", "base", "common", "helpers", "manager", "misc"}


def test_setup_takes_packages_from_wherever_the_user_does():
    for path in SETUP:
        assert not re.search(r"://|index-url|find-links|trusted-host", path.read_text()), path


def test_no_file_names_a_place_on_somebodys_machine():
    homes = re.compile(r"(?<![\w.])/(work|root|home|Users|opt)/\w")
    for path in (*PYTHON, *SETUP, *DOCUMENTS, *(ROOT / "scripts").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")):
        assert path.name == Path(__file__).name or not homes.search(path.read_text()), path


def test_the_type_marker_and_the_recipes_are_in_the_package():
    package = ROOT / "src" / "fedrand"
    assert (package / "py.typed").exists()
    assert {"emoji.toml", "presets.toml"} <= {path.name for path in (package / "recipes").iterdir()}


def test_third_party_material_has_its_notice():
    for folder in (ROOT / "src" / "fedrand" / "assets").iterdir():
        named = re.findall(rf"src/fedrand/assets/{folder.name}/\w+\.md", (ROOT / "NOTICE").read_text())
        assert named, folder
        assert all("icen" in (ROOT / name).read_text() for name in named), named
