"""Metrics side by side: one row per step, one column per metric.

A metric that has several values at one step fills as many rows for it: nothing is left out. All
points are held while they are sorted, 16 bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from mosaic.contracts.history import MetricSeries
from mosaic.export.tables import Column, Columns, Kind

ROWS_AT_ONCE = 10_000
_STEP = Column("step", Kind.INTEGER)


class WideMetrics:
    """Collects whole series, then gives rows in the order of their steps."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._steps: list[array[int]] = []
        self._values: list[array[float]] = []

    def add(self, name: str, pages: Iterable[MetricSeries]) -> None:
        steps, values = array("q"), array("d")
        for page in pages:
            steps.extend(page.last_steps)
            values.extend(page.means)
        order = sorted(range(len(steps)), key=steps.__getitem__)
        self._names.append(name)
        self._steps.append(array("q", (steps[place] for place in order)))
        self._values.append(array("d", (values[place] for place in order)))

    def columns(self) -> list[Column]:
        """A metric called like the column of steps gets a name of its own."""
        taken = {_STEP.name}
        columns = [_STEP]
        for name in self._names:
            while name in taken:
                name = f"metric {name}"
            taken.add(name)
            columns.append(Column(name, Kind.REAL))
        return columns

    def rows(self) -> Iterator[Columns]:
        """Blocks of columns; None where a metric has no value."""
        places = [0] * len(self._names)
        block: list[list[int | float | None]] = []
        while True:
            row = self._next_row(places)
            if row is not None:
                block.append(row)
            if block and (row is None or len(block) == ROWS_AT_ONCE):
                yield list(zip(*block, strict=True))
                block = []
            if row is None:
                return

    def _next_row(self, places: list[int]) -> list[int | float | None] | None:
        """The row of the lowest step that is left; moves the places behind it."""
        waiting = [
            steps[place]
            for steps, place in zip(self._steps, places, strict=True)
            if place < len(steps)
        ]
        if not waiting:
            return None
        step = min(waiting)
        row: list[int | float | None] = [step]
        for index, (steps, values) in enumerate(zip(self._steps, self._values, strict=True)):
            place = places[index]
            if place < len(steps) and steps[place] == step:
                row.append(values[place])
                places[index] = place + 1
            else:
                row.append(None)
        return row
