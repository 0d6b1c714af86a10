"""What a check found: before a run starts, of a worker's needs, or of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What the check of a warm start is called, for those who show it beside the field it is about.
CHECKPOINT_CHECK = "checkpoint"


@dataclass(frozen=True)
class CheckResult:
    check: str
    ok: bool
    message: str
    # What to do about it; empty when nothing is wrong.
    fix: str = ""
    # A failed check that is not required is a warning.
    required: bool = True

    @property
    def is_fatal(self) -> bool:
        return self.required and not self.ok

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CheckResult:
        """From JSON; a worker that describes itself calls the check `name`."""
        return cls(
            check=str(data.get("check") or data["name"]),
            ok=bool(data["ok"]),
            message=str(data.get("message", "")),
            fix=str(data.get("fix", "")),
            required=bool(data.get("required", True)),
        )
