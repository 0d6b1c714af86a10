"""The roster: who can act, and whether they are ready to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mosaic.gui.state.targets import Mode
from mosaic.wire.answers import WorkerInfo

HUMAN = "human"
_READY, _NOT_READY, _BROKEN = "ready", "not ready", "unusable"


@dataclass(frozen=True)
class RosterEntry:
    name: str
    title: str
    word: str
    is_ready: bool
    about: str = ""
    # Each check in a line, with what to do where it failed.
    checks: tuple[str, ...] = ()
    # The command that would make it ready; empty when there is none, or nothing to do.
    fix: str = ""

    @property
    def tooltip(self) -> str:
        lines = [line for line in (self.about, *self.checks) if line]
        return "\n".join(lines) or self.title


def roster(workers: Iterable[WorkerInfo], mode: Mode) -> list[RosterEntry]:
    found = [_entry(worker) for worker in workers]
    if mode is Mode.HUMAN:
        person = RosterEntry(HUMAN, "Human", _READY, True, "You play, with the keyboard")
        return [person, *found]
    if mode is Mode.HYBRID:
        able = {worker.name for worker in workers if can_load(worker)}
        return [entry for entry in found if entry.name in able]
    return found


def can_load(worker: WorkerInfo) -> bool:
    return worker.capabilities is not None and worker.capabilities.supports_policy_load


def _entry(worker: WorkerInfo) -> RosterEntry:
    capabilities = worker.capabilities
    title = capabilities.metadata.name if capabilities else worker.name
    if worker.error:
        return RosterEntry(worker.name, title, _BROKEN, False, worker.error)
    missing = next((item for item in worker.readiness if item.required and not item.ok), None)
    return RosterEntry(
        worker.name,
        title,
        _READY if worker.is_ready else _NOT_READY,
        worker.is_ready,
        capabilities.metadata.description if capabilities else "",
        tuple(
            f"✓ {item.check}" if item.ok else f"✗ {item.check}: {item.message}. {item.fix}"
            for item in worker.readiness
        ),
        missing.fix if missing else "",
    )
