"""The machine as a whole has the CPUs and the memory the run asks for."""

from __future__ import annotations

from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.daemon.run_queue import misfits
from mosaic.errors import ConfigError

CHECK = "resources"
_GPU_FIELD = "resources.gpus"  # has its own check


def check(subject: Subject) -> list[PreflightResult]:
    resources, capacity = subject.config.resources, subject.capacity
    results = [
        PreflightResult(
            CHECK,
            False,
            f"{misfit.field}: {misfit.message}",
            "ask for less, or use a larger machine; MOSAIC_CPUS and MOSAIC_MEMORY_MB override "
            "what was found",
            error=ConfigError,
            details={"field": misfit.field},
        )
        for misfit in misfits(resources, capacity)
        if not misfit.field.startswith(_GPU_FIELD)
    ]
    wanted = f"{resources.cpus} of {capacity.cpus} CPUs, {resources.memory_mb} of "
    return results or [PreflightResult(CHECK, True, f"{wanted}{capacity.memory_mb} MB")]
