"""What of the known runs the charts need."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.gui.state.chart_picture import RunLook
from mosaic.gui.state.run_colours import CURVES, RunColours
from mosaic.gui.state.runs_state import RunsState

# Curves of more runs cannot be told apart, and nobody waits for them gladly.
MAX_RUNS = 50


def looks_of(run_ids: Iterable[str], runs: RunsState, colours: RunColours) -> tuple[RunLook, ...]:
    """Of the first so many; what is not known is left out."""
    records = [record for run_id in run_ids if (record := runs.get(run_id)) is not None]
    return tuple(
        RunLook(
            record.run_id,
            record.run_name,
            colours.of(record.run_id) or CURVES[0],
            record.group,
            record.started_at,
            record.is_over,
            record.progress.mean_return,
        )
        for record in records[:MAX_RUNS]
    )


def nothing_to_show(runs: Iterable[RunLook]) -> tuple[str, str]:
    """Why there is no chart, and what will change that."""
    if any(not run.is_over for run in runs):
        return "No points yet", "The first point arrives with the first finished episode."
    return "No metrics", "The run ended before it had measured anything. Its log says why."
