"""A figure of a run: where in results.json or audit.json it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Found = Mapping[str, Any]
"""What a run left behind: "results", and "audit" where it was audited."""


@dataclass(frozen=True)
class Figure:
    """path: keys from a model's figures in results.json on ("bytes" and what follows: of the whole run). factor: what
    the number is multiplied by, 100 for per cent. attack: (protocol, attack, slice) of audit.json instead of a path.
    digits: printed after the point."""

    heading: str
    data: str
    path: tuple[str, ...] = ()
    factor: float = 100
    attack: tuple[str, str, str] | None = None
    digits: int = 2

    @property
    def audited(self) -> bool:
        return self.attack is not None

    def of(self, found: Found, part: str) -> float | None:
        """The number of one run's server model or of its clients (the mean over them); None where it was not measured."""
        if self.attack:
            return _scaled(_auroc(found.get("audit"), part, *self.attack), self.factor)
        model = () if self.path[0] == "bytes" else ("server",) if part == "server" else ("clients", "mean")
        return _scaled(_at(found["results"], (*model, *self.path)), self.factor)


def score(heading: str, split: str, metric: str, data: str = "captions") -> Figure:
    """A metric of a split, per cent."""
    return Figure(heading, data, (split, metric))


def loss(split: str) -> Figure:
    """The loss on a split's captions, nats per token."""
    return Figure("NLL", "captions", (split, "nll"), 1, digits=3)


def auroc(attack: str, slice: str, protocol: str = "P0") -> Figure:
    """An attack's AUROC, per cent, on the captioning runs."""
    words = {"P0": "", "P1": ", same distribution"}[protocol]
    return Figure(f"AUROC {attack} {slice}{words}", "captions", attack=(protocol, attack, slice))


def _at(tree: Any, path: Sequence[str]) -> Any:
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def _auroc(audit: Mapping[str, Any] | None, model: str, protocol: str, attack: str, slice: str) -> float | None:
    rows = _at(audit, ("protocols", protocol, "rows")) or ()
    wanted = (model, attack, slice)
    return next((row.get("auroc") for row in rows if (row["model"], row["attack"], row["slice"]) == wanted), None)


def _scaled(value: Any, factor: float) -> float | None:
    return factor * value if isinstance(value, (int, float)) else None
