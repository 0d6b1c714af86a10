"""A state as the daemon and the catalogues would fill it."""

from __future__ import annotations

import sys
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities, WorkerMetadata
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.catalogue import algorithms, environments
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.wire.answers import Health


def health(**changes: Any) -> Health:
    values: dict[str, Any] = {
        **{"healthy": True, "pid": 1, "started_at": 0.0, "version": "1", "home": "/h"},
        **{"addresses": (), "live_runs": 0, "queued_runs": 0, "alarms": (), "rss_mb": 1.0},
        **{"cpus_total": 8, "cpus_free": 8, "memory_mb_total": 65536, "memory_mb_free": 65536},
        **{"gpus_total": 0, "gpus_free": 0},
    }
    return Health(**{**values, **changes})


def worker(
    name: str, capabilities: WorkerCapabilities | None = None, *, is_ready: bool = True
) -> WorkerInfo:
    check = CheckResult("torch", is_ready, "cannot be imported", 'pip install "it[all]"', True)
    found = capabilities or WorkerCapabilities(name, metadata=WorkerMetadata(f"The {name}"))
    return WorkerInfo(
        name, f"{name}.cli", sys.executable, error="", capabilities=found, readiness=(check,)
    )


def installed_workers() -> list[WorkerInfo]:
    """Those of this repository, as the daemon would find them."""
    import importlib.metadata

    return [
        worker(entry.name, entry.load()())
        for entry in importlib.metadata.entry_points(group="mosaic.workers")
    ]


def filled_state() -> WorkbenchState:
    state = WorkbenchState()
    state.set_connection(Connection.ONLINE)
    state.set_health(health())
    state.set_catalogue(algorithms(), environments())
    state.set_workers(installed_workers())
    return state
