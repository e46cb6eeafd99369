"""Where the figures come from, and the commands that make them again."""

import json
import shlex
from pathlib import Path

from fedrand.report.amounts import flat, pick, plain
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, folded, section, table

PAPER = "arXiv 2503.07216"
RECIPE_COPY = "recipe."  # environment.json repeats the recipe, which is shown in its own words


def provenance(run: Path, results: Json, audit: Json | None, environment: Json, recipe: str, tables: Json) -> Markup:
    """Commands, the recipe (its text, and its tables), and every recorded version and hash."""
    again = f"{run.name}-again"
    words = [("fedrand", "run", f"{run.name}/recipe.toml", "--out", again)]
    words += [("fedrand", "audit", again, *_overrides(audit, tables)), ("fedrand", "report", again)]
    commands = "\n".join(shlex.join(command) for command in words)
    return section(
        "Provenance",
        element("p", f"Method: FedRand and its baselines, {PAPER}. From the folder that holds {run.name}:"),
        element("pre", commands),
        *([folded("The recipe", element("pre", recipe))] if recipe else []),
        *_facts("Environment", environment),
        *_facts("Audit", _audited(audit)),
        *_facts("Seconds", results.get("seconds")),
        *_facts("Captions of clients", results.get("captions_subset")),
        name="provenance",
    )


def _overrides(audit: Json | None, tables: Json) -> list[str]:
    """What the audit was told beside the recipe."""
    used, meant = pick(audit, "settings"), pick(tables, "audit")
    if not isinstance(used, dict) or not isinstance(meant, dict):
        return []
    changed = {key: value for key, value in used.items() if key in meant and meant[key] != value}
    return [word for key, value in changed.items() for word in ("--set", f"audit.{key}={json.dumps(value)}")]


def _audited(audit: Json | None) -> Json:
    """Form, seed, time and settings of the audit, then what it recorded of its run."""
    names = ("version", "seed", "seconds", "settings")
    known = {name: value for name in names if (value := pick(audit, name)) is not None}
    recorded = pick(audit, "provenance")
    return known | (recorded if isinstance(recorded, dict) else {})


def _facts(title: str, tree: object) -> list[Markup]:
    if not isinstance(tree, dict) or not tree:
        return []
    rows = [(name, plain(value)) for name, value in flat(tree).items() if not name.startswith(RECIPE_COPY)]
    return [folded(title, table(("what", "value"), rows, caption=title, class_="text"))]
