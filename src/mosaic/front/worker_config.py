"""The TrainRunConfig of a worker that is told its own settings, as by `mosaic run`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mosaic.errors import ConfigError
from mosaic.front.training_config import label, memory_request

if TYPE_CHECKING:
    from mosaic.contracts.capabilities import WorkerCapabilities


@dataclass(frozen=True)
class WorkerRun:
    """None is whatever the worker says it needs; of memory, as much as it takes."""

    worker: str
    capabilities: WorkerCapabilities
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    cpus: int | None = None
    memory_mb: int | None = None
    gpus: int | None = None
    priority: int | None = None
    retries: int | None = None
    max_steps: int | None = None
    max_duration_s: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def worker_document(run: WorkerRun) -> dict[str, Any]:
    capabilities = run.capabilities
    gpus = run.gpus if run.gpus is not None else int(capabilities.requires_gpu)
    schedule = {"max_steps": run.max_steps, "max_duration_seconds": run.max_duration_s}
    document: dict[str, Any] = {
        "run_name": run.name or default_name(run.worker, run.settings),
        "entry_point": run.worker,
        "arguments": [],
        "environment": dict(run.environment),
        "resources": {
            "cpus": run.cpus if run.cpus is not None else capabilities.cpu_cores,
            **memory_request(run.memory_mb),
            "gpus": {"requested": gpus, "mandatory": gpus > 0},
        },
        "artifacts": {},
        "metadata": {"worker": {"config": dict(run.settings)}},
        "schedule": {name: value for name, value in schedule.items() if value is not None},
    }
    if run.priority is not None:
        document["priority"] = run.priority
    if run.retries is not None:
        if run.retries < 0:
            raise ConfigError("--retries is negative", hint="0 means no second attempt")
        document["retry"] = {"max_attempts": run.retries + 1}
    return document


def default_name(worker: str, settings: Mapping[str, Any]) -> str:
    """Worker, environment and seed, as far as known."""
    known = [worker, settings.get("env_id"), settings.get("seed")]
    return label("-".join(str(part) for part in known if part is not None))
