"""An experiment's measured figures, by row, part, column and seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedrand.reproduce.cells import Cell, cell, difference
from fedrand.reproduce.experiments import Experiment
from fedrand.reproduce.figures import Figure, Found
from fedrand.reproduce.paper import printed

Runs = Mapping[tuple[str, str, int], Found]
"""What the runs left behind, by data, method and seed."""


@dataclass(frozen=True)
class Line:
    """One figure of one row: measured here, its difference to the reference row's, and what the paper prints."""

    row: str
    part: str
    column: str
    here: Cell | None
    change: Cell | None
    paper: float | None
    digits: int = 2

    @property
    def verdict(self) -> str:
        """What the difference to the reference row comes to; empty where there is none."""
        if self.change is None:
            return ""
        if self.change.half is None:
            return "one seed: no interval"
        shown = self.change.resolved and abs(self.change.mean) >= 0.5 * 10**-self.digits  # less is rounding
        return ("higher" if self.change.mean > 0 else "lower") if shown else "not resolved"


@dataclass(frozen=True)
class Grid:
    """name: of the table or figure; seeds: those that were run."""

    name: str
    experiment: Experiment
    runs: Runs
    seeds: Sequence[int]

    @property
    def rows(self) -> tuple[str, ...]:
        return (*self.experiment.rows, *self.experiment.extra)

    def lines(self) -> list[Line]:
        """Every row, part and column, in the order of the paper's table."""
        return [
            self._line(row, part, index, column)
            for part in self.experiment.parts
            for row in self.rows
            for index, column in enumerate(self.experiment.figures)
        ]

    def values(self, row: str, part: str, column: Figure) -> dict[int, float]:
        """By seed; a seed without the figure is left out."""
        found = {seed: self.runs.get((column.data, row, seed)) for seed in self.seeds}
        numbers = {seed: column.of(run, part) for seed, run in found.items() if run is not None}
        return {seed: value for seed, value in numbers.items() if value is not None}

    def _line(self, row: str, part: str, index: int, column: Figure) -> Line:
        own = self.values(row, part, column)
        reference = self.experiment.against
        change = difference(own, self.values(reference, part, column)) if row != reference else None
        paper = printed(self.name, part, row)
        return Line(
            row,
            part,
            column.heading,
            cell(list(own.values())) if own else None,
            change,
            paper[index] if paper and index < len(paper) else None,
            column.digits,
        )
