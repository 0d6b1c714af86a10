"""Workers and submissions for tests that need no process."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_config import TrainRunConfig, parse_run_config
from mosaic.daemon.workers.entry import WorkerEntry, find_worker, unknown_worker

DAEMON_PYTHON = "/opt/daemon/bin/python"
OTHER_PYTHON = "/opt/other/bin/python"
SDK = "/home/me/sdk"


def entry(name: str = "sample", **fields: Any) -> WorkerEntry:
    values: dict[str, Any] = {
        "module": f"{name}_pack.cli",
        "python": DAEMON_PYTHON,
        "capabilities": WorkerCapabilities(worker_type=name),
    }
    return WorkerEntry(name, **{**values, **fields})


class KnownWorkers:
    """Stands in for the catalog."""

    python = DAEMON_PYTHON
    sdk_dir = SDK

    def __init__(self, *entries: WorkerEntry) -> None:
        self.entries = entries

    def find(self, name: str) -> WorkerEntry | None:
        return find_worker(self.entries, name)

    def resolve(self, name: str) -> WorkerEntry:
        found = self.find(name)
        if found is None:
            raise unknown_worker(self.entries, name)
        return found


def submission(entry_point: str = "sample", **fields: Any) -> TrainRunConfig:
    worker = fields.pop("worker", None)
    document: dict[str, Any] = {
        "run_name": "a run",
        "entry_point": entry_point,
        "arguments": [],
        "environment": {},
        "resources": {"cpus": 2, "memory_mb": 512},
        "artifacts": {},
        **fields,
    }
    if worker is not None:
        document["metadata"] = {"worker": worker}
    return parse_run_config(document)
