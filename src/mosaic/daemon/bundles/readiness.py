"""Whether a worker is ready, where what it needs has a venv of its own."""

from __future__ import annotations

from dataclasses import replace

from mosaic.contracts.bundles import VenvState, needed_venvs
from mosaic.contracts.check_result import CheckResult
from mosaic.daemon.bundles.needs import VenvResolver
from mosaic.daemon.workers.entry import WorkerEntry

BUNDLE_CHECK = "bundle"


def ready_by_install(entry: WorkerEntry, resolver: VenvResolver, own_python: str) -> WorkerEntry:
    """A worker lacks nothing that is installed when it is first needed.

    Its checks were made beside MOSAIC: what it imports is looked for where it will run.
    """
    capabilities = entry.capabilities
    if entry.missing is None or capabilities is None or entry.python != own_python:
        return entry
    needs = needed_venvs(capabilities.bundle_rules, {})
    need = next((need for need in needs if not need.python_field), None)
    if need is None:
        return entry
    venv = resolver.resolve(need)
    if venv.state is VenvState.PRESENT or venv.lock is None or venv.problem is not None:
        return entry
    imports = {check.name for check in capabilities.readiness_checks if check.is_import}
    others = tuple(result for result in entry.readiness if result.check not in imports)
    when = "is installed" if venv.is_usable else "is installed when it is first needed"
    found = CheckResult(BUNDLE_CHECK, True, f"what it needs ({venv.name}) {when}")
    return replace(entry, readiness=(found, *others))
