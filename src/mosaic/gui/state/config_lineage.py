"""Which runs may go on from another one, so that their configs are worth reading. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.contracts.run_record import RunRecord

# So many configs are read to find the children of a run.
MOST_READ = 40


def possible_children(record: RunRecord, runs: Iterable[RunRecord]) -> list[str]:
    """Newer runs of the same worker and environment, the nearest in time first."""
    newer = (
        run.run_id
        for run in runs
        if run.run_id > record.run_id
        and run.worker == record.worker
        # One that takes a policy elsewhere has another environment: only evaluations do that.
        and (not run.env_id or not record.env_id or run.env_id == record.env_id)
    )
    return sorted(newer)[:MOST_READ]
