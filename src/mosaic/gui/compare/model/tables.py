"""A comparison as the tables, curves and sentences of its page.

What makes a comparison needs packages that may be missing: nothing here imports them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mosaic.export.table_formats import spreadsheet_text
from mosaic.front.human import amount
from mosaic.gui.charts.model.curve import Curve, numbers
from mosaic.gui.state.runs_state import CURVES

if TYPE_CHECKING:
    from mosaic.compare.comparison import Comparison
    from mosaic.compare.statistics import Estimate

_NOTHING = "–"
_LONGEST_VALUE = 40


@dataclass(frozen=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    # The columns with numbers, which stand on the right.
    numbers: frozenset[int] = frozenset()
    # The columns that share what room is left.
    wide: frozenset[int] = frozenset({0})
    colours: tuple[str, ...] = ()  # one per row, where rows are curves


def group_colours(
    labels: Sequence[str], groups: Mapping[str, str], colour_of: Callable[[str], str | None]
) -> tuple[str, ...]:
    """A group has the colour that its first run has elsewhere, else one that is still free.

    `groups` has the label of each run's group; `colour_of` is None for a run shown nowhere else.
    """
    known: dict[str, str] = {}
    for run_id, group in groups.items():
        colour = colour_of(run_id)
        if colour is not None and group not in known and colour not in known.values():
            known[group] = colour
    free = itertools.cycle([item for item in CURVES if item not in known.values()] or CURVES)
    return tuple(known[label] if label in known else next(free) for label in labels)


def curves_of(comparison: Comparison, colours: Sequence[str] = CURVES) -> list[Curve]:
    """The IQM over the seeds of each group, with its interval as a band."""
    found = []
    for group, colour in zip(comparison.groups, itertools.cycle(colours), strict=False):
        has_band = group.curve.low is not None and group.curve.high is not None
        found.append(
            Curve(
                group.label,
                colour,
                numbers(comparison.grid),
                numbers(group.curve.iqm),
                lows=numbers(group.curve.low) if group.curve.low is not None else None,
                highs=numbers(group.curve.high) if group.curve.high is not None else None,
                is_band=has_band,
                note=amount(group.seeds, "seed"),
            )
        )
    return found


def final_table(comparison: Comparison, colours: Sequence[str] = CURVES) -> Table:
    """The final performance of each group, and how it stands to what was published."""
    references = {check.label: check.verdict for check in comparison.checks}
    has_references = bool(references)
    columns = ("Group", "Seeds", "IQM", "95 % interval", "Median")
    rows = []
    for group in comparison.groups:
        cells = (
            group.label,
            str(group.seeds),
            number(group.final.iqm.value),
            interval(group.final.iqm),
            number(group.final.median.value),
        )
        rows.append((*cells, references.get(group.label, _NOTHING)) if has_references else cells)
    return Table(
        (*columns, "Published") if has_references else columns,
        tuple(rows),
        frozenset({1, 2, 3, 4}),
        colours=tuple(itertools.islice(itertools.cycle(colours), len(rows))),
    )


def pair_table(comparison: Comparison) -> Table:
    rows = tuple(
        (
            pair.first,
            pair.second,
            f"{pair.improvement.value:.2f}",
            interval(pair.improvement),
            _NOTHING if pair.p_value is None else _p_text(pair.p_value),
            "yes" if pair.is_told_apart else "no",
        )
        for pair in comparison.pairs
    )
    columns = ("Better?", "Than", "P(impr.)", "95 % interval", "p", "Told apart")
    return Table(columns, rows, frozenset({2, 3, 4}), wide=frozenset({0, 1}))


def difference_table(comparison: Comparison) -> Table:
    return Table(
        ("Parameter", *(group.label for group in comparison.groups)),
        tuple(
            (item.path, *(shortened(value) for value in item.values))
            for item in comparison.differences
        ),
        wide=frozenset(range(len(comparison.groups) + 1)),
    )


def tab_separated(tables: Sequence[Table]) -> str:
    """For the clipboard: spreadsheets take it as it is."""
    parts = []
    for table in tables:
        lines = ["\t".join(map(_in_one_cell, table.columns))]
        for row in table.rows:
            # Of what stands in the columns of numbers, intervals too, nothing is from outside.
            cells = (
                cell if column in table.numbers else _in_one_cell(cell)
                for column, cell in enumerate(row)
            )
            lines.append("\t".join(cells))
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def subtitle(comparison: Comparison) -> str:
    question = comparison.question
    where = comparison.environment or "an unknown environment"
    return f"{question.metric} on {where} up to step {int(comparison.grid[-1]):,}"


def final_caption(comparison: Comparison) -> str:
    question = comparison.question
    return f"Mean of the last {question.last} {question.unit}s of each seed"


def number(value: float) -> str:
    """The same number of decimals in a column, so that it lines up."""
    size = abs(value)
    if size and (size < 0.005 or size >= 1e9):
        return f"{value:.2e}"
    return f"{value:,.2f}" if size < 10_000 else f"{value:,.0f}"


def interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return _NOTHING
    return f"{number(estimate.low)} … {number(estimate.high)}"


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _p_text(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else "< 0.001"


def _in_one_cell(text: str) -> str:
    return spreadsheet_text(re.sub(r"[\t\r\n]", " ", text))
