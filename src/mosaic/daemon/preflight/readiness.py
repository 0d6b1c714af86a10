"""What the worker itself said it needs: libraries, programs, variables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from mosaic.contracts.capabilities import ReadinessCheck
from mosaic.daemon.launch.environment import inherited_environment, passed_secrets
from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.errors import DependencyError


def check(subject: Subject) -> list[PreflightResult]:
    entry = subject.command.entry
    if entry is None or entry.capabilities is None:
        return []
    environment = {
        **inherited_environment(os.environ),
        **passed_secrets(os.environ),
        **subject.config.environment,
    }
    found = {result.check: result for result in entry.readiness}
    return [
        _check_here(item, environment) or found.get(item.name) or _unknown(item)
        for item in entry.capabilities.readiness_checks
    ]


def _check_here(item: ReadinessCheck, environment: Mapping[str, str]) -> PreflightResult | None:
    """Programs and variables depend on this run's environment; libraries were looked up before."""
    kind, _, target = item.check.partition(":")
    if kind == "env":
        is_there = bool(environment.get(target))
        return _result(
            item, is_there, f"the variable {target} is {'set' if is_there else 'not set'}"
        )
    if kind == "command":
        is_there = shutil.which(target, path=environment.get("PATH")) is not None
        return _result(
            item, is_there, f"the program {target} is {'installed' if is_there else 'missing'}"
        )
    return None


def _result(item: ReadinessCheck, ok: bool, message: str) -> PreflightResult:
    return PreflightResult(
        item.name,
        ok,
        f"{item.name}: {message}",
        "" if ok else item.fix,
        required=item.required,
        error=DependencyError,
    )


def _unknown(item: ReadinessCheck) -> PreflightResult:
    message = f"{item.name}: not checked ({item.check})"
    return PreflightResult(item.name, False, message, item.fix, required=False)
