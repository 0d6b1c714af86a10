"""What a check found: of a worker's readiness, or of a submission before it is accepted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mosaic.errors import MosaicError, PreflightError


@dataclass(frozen=True)
class PreflightResult:
    check: str
    ok: bool
    message: str
    # What to do about it; empty when nothing is wrong.
    fix: str = ""
    # A failed check that is not required is a warning.
    required: bool = True
    # How a failure is reported to the submitter.
    error: type[MosaicError] = PreflightError
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def is_fatal(self) -> bool:
        return self.required and not self.ok
