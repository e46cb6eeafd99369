"""What was run, and the figures a reader looks for first."""

from collections.abc import Mapping

from fedrand.report.amounts import MISSING, number, pick, plain, score, score_spread
from fedrand.report.finding import findings
from fedrand.report.leakage import headline
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, section, table
from fedrand.report.threat import threats
from fedrand.strategies import centralised

ARROW = "\N{RIGHTWARDS ARROW}"
TIMES = "\N{MULTIPLICATION SIGN}"
KINDS = {
    "lora": "LoRA",
    "hadamard": "elementwise product of two pairs (hadamard), each",
    "hadamard+1": "elementwise product of two pairs (hadamard+1), each",
}


def overview(results: Json, environment: Json, recipe: Json) -> Markup:
    """The run in a table."""
    facts = {
        "method": " ".join([plain(results.get("method")), *_options(recipe.get("strategy"))]),
        "rounds": plain(results.get("rounds")),
        "clients": f"{plain(pick(results, 'clients', 'n'))} took part; {_asked(recipe)} asked in each round",
        "data": f"{plain(pick(environment, 'data', 'name') or pick(recipe, 'data', 'name'))}, {_partition(recipe)}",
        "model": plain(pick(environment, "model", "name") or pick(recipe, "model", "name")),
        "model's hash": plain(pick(environment, "model", "fingerprint")),
        "adapter": f"{_adapter(recipe)} of rank {plain(pick(recipe, 'adapter', 'rank'))} on the language model",
        "seed": plain(results.get("seed")),
        "versions": _versions(environment.get("versions")),
    }
    return section(
        "What was run", table(("what", "value"), facts.items(), caption="The run", class_="text"), name="run"
    )


def _options(strategy: object) -> list[str]:
    options = strategy if isinstance(strategy, Mapping) else {}
    return [f"{name}={plain(value)}" for name, value in options.items() if name != "name"]


def _asked(recipe: Json) -> str:
    """How many: one alone where it holds everyone's data."""
    alone = pick(recipe, "strategy", "name") == centralised().name
    return "1" if alone else plain(pick(recipe, "train", "clients_per_round"))


def _adapter(recipe: Json) -> str:
    """A recipe of before there were kinds names none."""
    kind = pick(recipe, "adapter", "kind") or "lora"
    return KINDS.get(str(kind), plain(kind))


def _partition(recipe: Json) -> str:
    data = recipe.get("data") or {}
    alpha = f"({plain(data.get('alpha'))})" if data.get("partition") == "dirichlet" else ""
    return f"partition {plain(data.get('partition'))}{alpha}"


def _versions(versions: object) -> str:
    known = versions if isinstance(versions, Mapping) else {}
    return ", ".join(f"{name} {plain(version)}" for name, version in known.items()) or MISSING


def cards(results: Json, audit: Json | None) -> Markup:
    """The headline figures, each with the model and split it belongs to."""
    shown = [*_quality(results), _bytes(results), *_leaks(audit)]
    boxes = [
        element("div", element("dt", name), element("dd", value), element("dd", note, class_="note"))
        for name, value, note in shown
    ]
    return element("dl", *boxes, class_="cards")


def _quality(results: Json) -> list[tuple[str, str, str]]:
    found = []
    for metric, label in (("nll", "NLL"), ("cider_d", "CIDEr-D x 100")):
        before, after = (score(metric, pick(results, model, "test", metric)) for model in ("before", "server"))
        mean, std = (pick(results, "clients", part, "test", metric) for part in ("mean", "std"))
        found.append(
            (f"{label}, server, test", f"{before} {ARROW} {after}", f"clients {score_spread(metric, mean, std)}")
        )
    return found


def _bytes(results: Json) -> tuple[str, str, str]:
    up, total = (pick(results, "bytes", f"ratio_{way}") for way in ("upload", "total"))
    return ("Bytes sent up", f"{number(up, 2)} {TIMES} FedAvg", f"up and down: {number(total, 2)} {TIMES}")


def _leaks(audit: Json | None) -> list[tuple[str, str, str]]:
    if audit is None:
        return [("Membership leak", MISSING, "not audited yet")]
    if found := [threat for threat in threats(audit) if threat.worst]:
        return [
            (
                f"Worst AUROC, {threat.name}",
                number(worst.auroc),
                f"[{number(worst.held[0])}, {number(worst.held[1])}] {worst.label} {worst.name}",
            )
            for threat in found
            if (worst := threat.worst)
        ]
    rows = findings(audit, "P1")
    chosen = [row for model in ("server", "client", "update") if (row := headline(rows, model))]
    return [
        (f"AUROC, {row.model}, {row.threat}", number(row.auroc), f"[{number(row.low)}, {number(row.high)}] {row.name}")
        for row in chosen
    ] or [("Membership leak", MISSING, "the audit has no figure")]
