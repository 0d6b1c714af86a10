"""Which venvs a command needs, and the same command in these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from mosaic.bundles.locks import Lock
from mosaic.contracts.bundles import VenvNeed, VenvState, needed_venvs
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.daemon.bundles.needs import ResolvedVenv
from mosaic.daemon.launch.command import LaunchCommand
from mosaic.daemon.workers.entry import WorkerEntry


class Venvs(Protocol):
    """The part of the resolver that is needed here."""

    def resolve(self, need: VenvNeed, kept: Mapping[str, Lock] | None = None) -> ResolvedVenv: ...
    def mark_used(self, path: Path) -> None: ...


class AllPresent:
    """Of an installation that has everything in its own environment."""

    def resolve(self, need: VenvNeed, kept: Mapping[str, Lock] | None = None) -> ResolvedVenv:
        return ResolvedVenv(need, VenvState.PRESENT)

    def mark_used(self, path: Path) -> None:
        pass


ALL_PRESENT = AllPresent()


class WorkerPaths(Protocol):
    @property
    def python(self) -> str: ...

    def path_of(self, entry: WorkerEntry) -> str:
        """A folder with MOSAIC and this worker, and nothing else, for other interpreters."""


def in_venvs(
    command: LaunchCommand,
    config: TrainRunConfig,
    workers: WorkerPaths,
    venvs: Venvs,
    kept: Mapping[str, Lock] | None = None,
) -> LaunchCommand:
    """The same command where all it needs is installed beside MOSAIC itself."""
    found = [
        resolved
        for need in needs_of(command, config, workers.python)
        if (resolved := venvs.resolve(need, kept)).state is not VenvState.PRESENT
    ]
    if not found:
        return command
    entry = command.entry
    own = next((item for item in found if not item.need.python_field), None)
    if own is not None and entry is not None:
        if _works_here(own, entry):
            found.remove(own)
        elif own.path is not None:
            command = replace(
                command,
                python=own.python,
                path_dirs=(*entry.path_dirs, workers.path_of(entry)),
            )
    is_beside_mosaic = command.python == workers.python
    optional = [
        item for item in found if is_beside_mosaic and item.need.is_optional and not item.is_usable
    ]
    return replace(
        command,
        venvs=tuple(item for item in found if item not in optional),
        offered=tuple(item for item in optional if item.lock is not None),
    )


def needs_of(
    command: LaunchCommand, config: TrainRunConfig, own_python: str
) -> tuple[VenvNeed, ...]:
    """Nothing of its own for a worker with an interpreter that somebody has chosen for it."""
    entry = command.entry
    if entry is None or entry.capabilities is None:
        return ()
    needs = needed_venvs(entry.capabilities.bundle_rules, config.worker.config)
    if command.python != own_python:
        needs = tuple(need for need in needs if need.python_field)
    return needs


def _works_here(own: ResolvedVenv, entry: WorkerEntry) -> bool:
    """A bundle that nobody can install here must not keep a worker from running that has all that
    it says it needs; nor must a build for other machines, where its checks have found all."""
    is_nowhere = own.state is VenvState.UNAVAILABLE and own.lock is None
    is_stand_in = bool(own.note) and not own.is_usable
    return entry.missing is None and (is_nowhere or (is_stand_in and bool(entry.readiness)))


def config_in_venvs(settings: Mapping[str, Any], command: LaunchCommand) -> dict[str, Any]:
    """The worker's config with the interpreters of the programs that it has run elsewhere."""
    placed = dict(settings)
    for venv in command.venvs:
        if venv.need.python_field and venv.is_usable:
            placed = _with_field(placed, venv.need.python_field, venv.python)
    return placed


def _with_field(settings: Mapping[str, Any], path: str, value: str) -> dict[str, Any]:
    name, _, rest = path.partition(".")
    if not rest:
        return {**settings, name: value}
    inner = settings.get(name)
    return {**settings, name: _with_field(inner if isinstance(inner, dict) else {}, rest, value)}
