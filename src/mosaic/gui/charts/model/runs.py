"""What charts need to know about runs: how their curves look, and which runs evaluated them."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.contracts.ancestry import ancestors_of
from mosaic.contracts.metrics import MetricSeries
from mosaic.contracts.run_record import LineageKind, RunRecord
from mosaic.gui.charts.model.curve import numbers
from mosaic.gui.charts.model.picture import Evaluations, RunLook
from mosaic.gui.state.runs_state import CURVES, RunColours, RunsState

# Curves of more runs cannot be told apart and take long to load.
MAX_RUNS = 50


def looks_of(run_ids: Iterable[str], runs: RunsState, colours: RunColours) -> tuple[RunLook, ...]:
    """Of the first few runs; unknown ones are left out."""
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
            ancestors_of(record, runs.get),
        )
        for record in records[:MAX_RUNS]
    )


def nothing_to_show(runs: Iterable[RunLook]) -> tuple[str, str]:
    """Why there is no chart, and what will change that."""
    if any(not run.is_over for run in runs):
        return "No points yet", "The first point arrives with the first finished episode."
    return "No metrics", "The run ended before it had measured anything. Its log says why."


def evaluations_of(
    parent: RunRecord, records: Iterable[RunRecord], own: MetricSeries | None
) -> Evaluations | None:
    """Of runs that evaluated its checkpoints, and what the run measured itself in between."""
    points: list[tuple[float, float]] = []
    if own is not None:
        points += zip(own.last_steps, own.means, strict=True)
    for record in records:
        lineage, value = record.lineage, record.progress.mean_return
        if lineage is None or lineage.parent_run != parent.run_id:
            continue
        if lineage.kind is LineageKind.EVALUATED and record.is_over and value is not None:
            step = lineage.step if lineage.step is not None else parent.progress.steps
            points.append((step, value))
    if not points:
        return None
    points.sort()
    return Evaluations(numbers([x for x, _ in points]), numbers([y for _, y in points]))
