"""A worker for the chaos suite that prints its events: runs a misbehaving program as its own."""

from __future__ import annotations

from mosaic.contracts.capabilities import WorkerCapabilities, WorkerMetadata


def get_worker_metadata() -> WorkerCapabilities:
    return WorkerCapabilities(
        worker_type="printing",
        stdout_events=True,
        metadata=WorkerMetadata(name="Printing worker"),
    )
