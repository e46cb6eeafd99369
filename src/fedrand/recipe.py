"""Reading a recipe: TOML, overrides and presets into frozen tables, and errors that name file, key and choices."""

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fedrand.errors import InputError
from fedrand.settings import AdapterTable, Recipe
from fedrand.strategies import STRATEGIES
from fedrand.strategy import Strategy

__all__ = ["Recipe", "RecipeError", "differences", "load_recipe", "shipped", "to_toml"]

Tree = dict[str, Any]
MOST = 200  # characters of a wrong value that a message repeats

_WORDS = {
    "tuple_type": "it must be a list, such as [0, 10]",
    "model_type": "it must be a table of keys",
    "model_attributes_type": "it must be a table of keys",
}


class RecipeError(InputError):
    """A recipe that cannot be run: file, key, what it holds, what is allowed."""


def shipped() -> tuple[str, ...]:
    """Names of the recipes in the package."""
    names = (entry.name for entry in resources.files("fedrand").joinpath("recipes").iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".toml") and name != "presets.toml"))


def load_recipe(name_or_path: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """The resolved recipe of a shipped name or a file, with `overrides` such as "strategy.rho=0.7" on top.

    From weakest to strongest: defaults, the file's preset, the file, the overrides' preset, the overrides.
    """
    source = str(name_or_path)
    beside = Path() if source in shipped() else Path(source).parent
    tree = _expanded(_located(_parsed(_text(source), source), beside), source)
    if overrides:
        tree = _merged(tree, _expanded(_located(_override_tree(overrides), Path()), "--set"))
    return _validated(tree, source)


def audited_with(recipe: Recipe, overrides: Sequence[str]) -> Recipe:
    """A finished run's recipe with other settings of its audit, such as "audit.uploads=0". RecipeError for what the run
    itself hangs on: any table but [audit] and [memory], and the canaries, which lie among its data."""
    tree = _override_tree(overrides)
    if fixed := [name for name in tree if name not in ("audit", "memory")]:
        raise RecipeError(
            f"--set of an audit changes [audit] and [memory]; {fixed[0]} is part of the run: start a new one"
        )
    changed = _validated(_merged(recipe.model_dump(mode="json"), tree), "--set")
    if changed.audit.canaries != recipe.audit.canaries:
        raise RecipeError("audit.canaries are put in before a run is trained: start a new one")
    return changed


def from_toml(path: Path) -> Recipe:
    """The recipe of a run folder, which holds every value already."""
    return _validated(_parsed(_file(path), str(path)), str(path))


def from_json(tree: Tree, source: str) -> Recipe:
    """The recipe that a run wrote down; what an earlier version did not know has its default."""
    return _validated(tree, source)


def _text(source: str) -> str:
    if source in shipped():
        return resources.files("fedrand").joinpath("recipes", f"{source}.toml").read_text()
    path = Path(source)
    if _is_file(path):
        return _file(path)
    close = difflib.get_close_matches(source, shipped(), 1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    raise RecipeError(
        f"no recipe '{_short(source)}': neither a file nor one of the shipped ({', '.join(shipped())}){hint}"
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


def _file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not a text file; a recipe is TOML in UTF-8") from error


def _parsed(text: str, source: str) -> Tree:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for a number of too many digits
        raise RecipeError(f"{source}: not TOML: {_short(str(error))}") from error


def _short(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}..."


def _located(tree: Tree, beside: Path) -> Tree:
    """The tree with its folders' paths made absolute: data.path, data.ood_path, and a model.name that starts with . or
    ~; hub:OWNER/NAME is no path."""
    for table, key, starts in (("data", "path", ""), ("data", "ood_path", ""), ("model", "name", (".", "~"))):
        value = tree[table].get(key) if isinstance(tree.get(table), dict) else None
        if isinstance(value, str) and value and value.startswith(starts) and not value.startswith("hub:"):
            tree = _merged(tree, {table: {key: _absolute(beside, value, f"{table}.{key}")}})
    return tree


def _absolute(beside: Path, value: str, key: str) -> str:
    try:
        return str((beside / Path(value).expanduser()).resolve())
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a loop of links, a home of nobody
        raise RecipeError(f"{key} is {json.dumps(_short(value))}: no path ({error}); give a folder") from error


def _override_tree(overrides: Sequence[str]) -> Tree:
    tree: Tree = {}
    for override in overrides:
        path, equals, text = override.partition("=")
        if not equals or not path.strip():
            raise RecipeError(f"--set {override}: expected KEY=VALUE, such as strategy.rho=0.7")
        value: Any = _value(text.strip(), override)
        for part in reversed(path.strip().split(".")):
            value = {part: value}
        tree = _merged(tree, value)
    return tree


def _value(text: str, override: str) -> Any:
    """A TOML value; what is none is taken as a bare string."""
    if "\n" in text or "\r" in text:
        raise RecipeError(
            f"--set {_short(' '.join(override.split()))}: a value is one line; give --set once for each key"
        )
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"--set {_short(override)}: not a value ({error}); give a shorter one") from error


def _merged(low: Tree, high: Tree) -> Tree:
    """`high` over `low`; a strategy of another name takes none of the old one's options along."""
    merged = dict(low)
    for key, value in high.items():
        old = merged.get(key)
        both = isinstance(value, dict) and isinstance(old, dict)
        renamed = both and key == "strategy" and value.get("name", old.get("name")) != old.get("name")
        merged[key] = _merged(old, value) if both and not renamed else value
    return merged


@cache
def _presets() -> Mapping[str, Tree]:
    return tomllib.loads(resources.files("fedrand").joinpath("recipes", "presets.toml").read_text())


def _expanded(tree: Tree, source: str) -> Tree:
    if "preset" not in tree:
        return tree
    name = tree["preset"]
    if not isinstance(name, str) or name not in _presets():
        raise RecipeError(f"{source}: preset is {_short(repr(name))}; choose from {', '.join(_presets())}")
    return _merged(_presets()[name], {key: value for key, value in tree.items() if key != "preset"})


def _validated(tree: Tree, source: str) -> Recipe:
    try:
        recipe = Recipe.model_validate(tree)
    except ValidationError as error:
        raise RecipeError(f"{source}: {_sentence(error.errors())}") from error
    try:
        strategy = recipe.strategy.build()
    except ValueError as error:
        raise RecipeError(f"{source}: strategy: {error}") from error
    return recipe.model_copy(update={"adapter": _adapter(recipe.adapter, strategy, source)})


def _adapter(table: AdapterTable, strategy: Strategy, source: str) -> AdapterTable:
    """The adapter's table with its kind resolved; RecipeError when the strategy is made for another kind."""
    if table.kind == "auto":
        return table.model_copy(update={"kind": strategy.adapter or "lora"})
    if strategy.adapter not in ("", table.kind):
        raise RecipeError(
            f'{source}: adapter.kind is "{table.kind}" but strategy {strategy.name} is made for '
            f'"{strategy.adapter}"; leave adapter.kind out, or choose another strategy'
        )
    return table


def _sentence(errors: Sequence[ErrorDetails]) -> str:
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return _fault(errors[0]) + more


def _fault(error: ErrorDetails) -> str:
    location = [str(part) for part in error["loc"]]
    if len(location) > 1 and location[0] == "strategy" and location[1] in STRATEGIES:
        del location[1]  # the union's tag, no key of the file
    key = ".".join(location)
    context = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            allowed = _fields(error["loc"])
            close = difflib.get_close_matches(location[-1], allowed, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            return f"unknown key {key}; choose from {', '.join(allowed) or 'none'}{hint}"
        case "union_tag_invalid":
            close = difflib.get_close_matches(str(context["tag"]), STRATEGIES, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            return f"unknown strategy {context['tag']!r} at {key}.name; choose from {', '.join(STRATEGIES)}{hint}"
        case "missing" | "union_tag_not_found":
            return f"{key} is missing; {_missing_remedy(key)}"
        case "value_error":
            return f"{key}: {context['error']}" if key else str(context["error"])
    wanted = _WORDS.get(error["type"], error["msg"].replace("Input should be", "it must be"))
    return f"{key} is {_short(json.dumps(error['input'], default=str))}; {wanted}"


def _missing_remedy(key: str) -> str:
    return f"[strategy] needs name, one of {', '.join(STRATEGIES)}" if key.startswith("strategy") else "set it"


def _fields(location: Sequence[int | str]) -> tuple[str, ...]:
    """The keys of the table that holds the key at `location`."""
    table: type[BaseModel] = Recipe
    for part in location[:-1]:
        union = get_args(table.model_fields[str(part)].annotation) if table is Recipe else ()
        if part == "strategy" and union:
            return _strategy_fields(str(location[1]), union)
        table = table.model_fields[str(part)].annotation  # type: ignore[assignment]
    return tuple(table.model_fields)


def _strategy_fields(name: str, tables: Sequence[type[BaseModel]]) -> tuple[str, ...]:
    return next(
        tuple(table.model_fields) for table in tables if name in get_args(table.model_fields["name"].annotation)
    )


def to_toml(recipe: Recipe) -> str:
    """Every value of the recipe written out; `from_toml` reads back an equal one."""
    tree = recipe.model_dump(mode="json")
    lines = [f"seed = {recipe.seed}"]
    for name, table in tree.items():
        if isinstance(table, dict):
            lines += [
                "",
                f"[{name}]",
                *(f"{key} = {_toml(value)}" for key, value in table.items()),
            ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """JSON's text of a value, which TOML reads too once U+007F is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The keys whose value differs between two recipes' trees: "train.lr was 0.001, is 0.003". Where things lie in
    memory is no difference."""
    for key in sorted((old.keys() | new.keys()) - {"memory"}):
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from differences(before, after, f"{prefix}{key}.")
        elif before != after:
            yield f"{prefix}{key} was {json.dumps(before)}, is {json.dumps(after)}"
