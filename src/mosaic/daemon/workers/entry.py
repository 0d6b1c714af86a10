"""A worker as the daemon knows it, and how it is found by name or module."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import UnknownWorkerError


@dataclass(frozen=True)
class WorkerEntry(WorkerInfo):
    # Folders for PYTHONPATH.
    path_dirs: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    def to_dict(self) -> dict[str, Any]:
        """What the catalogue keeps; whether it is ready follows from that."""
        data = super().to_dict()
        del data["ready"]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WorkerEntry:
        values = dict(data)
        capabilities = values.get("capabilities")
        values["capabilities"] = (
            WorkerCapabilities.from_dict(capabilities) if capabilities else None
        )
        values["path_dirs"] = tuple(values.get("path_dirs", ()))
        values["readiness"] = tuple(map(CheckResult.from_dict, values.get("readiness", ())))
        return cls(**values)


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
