"""A worker as the daemon knows it, and how one is found by its name or module."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.errors import DependencyError, UnknownWorkerError

ENTRY_POINT_SOURCE = "entry point"


@dataclass(frozen=True)
class WorkerEntry:
    name: str
    # What `python -m` runs, such as "my_worker.cli"; empty when that is unknown.
    module: str
    python: str
    # Folders for PYTHONPATH.
    path_dirs: tuple[str, ...] = ()
    # "entry point", or the path of its manifest.
    source: str = ENTRY_POINT_SOURCE
    capabilities: WorkerCapabilities | None = None
    # Why it cannot be used; empty when it can.
    error: str = ""
    readiness: tuple[PreflightResult, ...] = ()

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["capabilities"] = self.capabilities.to_dict() if self.capabilities else None
        data["readiness"] = [readiness_to_dict(result) for result in self.readiness]
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WorkerEntry:
        values = dict(data)
        capabilities = values.get("capabilities")
        values["capabilities"] = (
            WorkerCapabilities.from_dict(capabilities) if capabilities else None
        )
        values["path_dirs"] = tuple(values.get("path_dirs", ()))
        values["readiness"] = tuple(map(readiness_from_dict, values.get("readiness", ())))
        return cls(**values)


def readiness_to_dict(result: PreflightResult) -> dict[str, Any]:
    names = ("check", "ok", "message", "fix", "required")
    return {name: getattr(result, name) for name in names}


def readiness_from_dict(data: dict[str, Any]) -> PreflightResult:
    return PreflightResult(
        check=str(data.get("check") or data["name"]),
        ok=bool(data["ok"]),
        message=str(data.get("message", "")),
        fix=str(data.get("fix", "")),
        required=bool(data.get("required", True)),
        error=DependencyError,
    )


def find_worker(entries: Iterable[WorkerEntry], wanted: str) -> WorkerEntry | None:
    """By name, else by module, else by package; a usable worker before a broken one."""
    ranked = sorted(entries, key=lambda entry: bool(entry.error))
    for attribute in ("name", "module", "package"):
        for entry in ranked:
            if wanted and getattr(entry, attribute) == wanted:
                return entry
    return None


def unknown_worker(entries: Iterable[WorkerEntry], wanted: str) -> UnknownWorkerError:
    names = sorted({entry.name for entry in entries})
    close = difflib.get_close_matches(wanted, names, n=2)
    known = ", ".join(names) or "none are installed"
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return UnknownWorkerError(
        f"There is no worker {wanted[:80]!r}",
        hint=f"{hint}known workers: {known}",
        workers=names,
    )
