"""A worker that only prints its events, for the chaos suite; the run host writes the journal."""

from __future__ import annotations

from mosaic.contracts.capabilities import WorkerCapabilities


def get_worker_metadata() -> WorkerCapabilities:
    return WorkerCapabilities(worker_type="lines", stdout_events=True)
