"""A worker of the SDK for the chaos suite: proves its start, counts its steps, ends as told."""

from __future__ import annotations

from mosaic.contracts.capabilities import WorkerCapabilities


def get_worker_metadata() -> WorkerCapabilities:
    return WorkerCapabilities(worker_type="counting")
