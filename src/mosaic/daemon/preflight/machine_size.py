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
    if results:
        return results
    memory = "memory without a limit"
    if resources.memory_mb is not None:
        memory = f"{resources.memory_mb} of {capacity.memory_mb} MB"
    found = PreflightResult(CHECK, True, f"{resources.cpus} of {capacity.cpus} CPUs, {memory}")
    expected = resources.expected_memory_mb or 0
    return [found, _expectation(expected, capacity.memory_mb)] if expected else [found]


def _expectation(expected_mb: int, total_mb: int) -> PreflightResult:
    """No more than a warning: it may well get by with less."""
    return PreflightResult(
        CHECK,
        expected_mb <= total_mb,
        f"such a run usually needs {expected_mb} MB of memory; this machine has {total_mb} MB",
        "" if expected_mb <= total_mb else "make what it keeps in memory smaller (buffer_size)",
        required=False,
    )
