"""A worker of the SDK for the chaos suite: emits steps at any pace, and ends in several ways."""

from __future__ import annotations

from mosaic.contracts.capabilities import WorkerCapabilities, WorkerMetadata


def get_worker_metadata() -> WorkerCapabilities:
    return WorkerCapabilities(
        worker_type="emitting", metadata=WorkerMetadata(name="Emitting worker")
    )
