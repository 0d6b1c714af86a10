"""A worker as others see it: where it is, what it can do, and whether it is ready."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.check_result import CheckResult

ENTRY_POINT_SOURCE = "entry point"


@dataclass(frozen=True)
class WorkerInfo:
    name: str
    # What `python -m` runs, such as "my_worker.cli"; empty when that is unknown.
    module: str
    python: str
    # "entry point", or the path of its manifest.
    source: str = ENTRY_POINT_SOURCE
    # Why it cannot be used; empty when it can.
    error: str = ""
    capabilities: WorkerCapabilities | None = None
    readiness: tuple[CheckResult, ...] = ()

    @property
    def is_ready(self) -> bool:
        return not self.error and self.missing is None

    @property
    def missing(self) -> CheckResult | None:
        """The first thing it needs and does not find."""
        return next((result for result in self.readiness if result.is_fatal), None)

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["capabilities"] = self.capabilities.to_dict() if self.capabilities else None
        data["ready"] = self.is_ready
        return data
