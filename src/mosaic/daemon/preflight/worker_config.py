"""The worker's config is valid by the schema the worker itself published."""

from __future__ import annotations

from mosaic.contracts.schema_check import violations
from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.errors import ConfigError

CHECK = "worker config"
WHERE = "metadata.worker.config"
MAX_SHOWN = 20
# Known only when the run starts, so a worker may require them all the same.
SET_AT_LAUNCH = ("run_id", "worker_id", "agent_id")


def check(subject: Subject) -> list[PreflightResult]:
    entry = subject.command.entry
    if entry is None or entry.capabilities is None or not entry.capabilities.config_schema:
        return []
    schema = entry.capabilities.config_schema
    names = {name: "filled in" for name in SET_AT_LAUNCH if name in schema.get("properties", {})}
    results = []
    for violation in violations({**names, **subject.config.worker.config}, schema, WHERE):
        results.append(
            PreflightResult(
                CHECK,
                False,
                f"Invalid config of {entry.name}: {violation.path}: {violation.message}",
                violation.hint,
                error=ConfigError,
                details={"field": violation.path},
            )
        )
        if len(results) == MAX_SHOWN:
            break
    return results or [PreflightResult(CHECK, True, "the worker's config is valid")]
