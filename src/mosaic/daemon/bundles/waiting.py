"""Queued runs that need what is not installed: what they wait for, and what follows from it.

Where somebody agreed to it, it is installed, and the run says how far that is. Where nobody did, or
took it back, the run stays in the queue and says which command goes on with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mosaic.contracts.bundles import InstallPhase, InstallProgress
from mosaic.contracts.run_state import FailureKind, FailureReason
from mosaic.daemon.bundles.installs import Install
from mosaic.daemon.bundles.kept_locks import kept_agreement, revoke_agreement
from mosaic.daemon.bundles.needs import ResolvedVenv, agreed_error, waiting_for_somebody
from mosaic.daemon.launch.attempt_spec import SpecBuilder
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.background_tasks import BackgroundTasks
from mosaic.daemon.runs.run_lifecycle import Failed
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.errors import BundleError, MosaicError
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

StartInstall = Callable[[ResolvedVenv], Install]
LOOKING = "looking at what it needs"


class WaitingRuns:
    def __init__(
        self, home: Home, supervisor: Supervisor, specs: SpecBuilder, start_install: StartInstall
    ) -> None:
        self._home = home
        self._supervisor = supervisor
        self._specs = specs
        self._start_install = start_install
        # For each run the installs that it waits for.
        self._installs: dict[str, set[str]] = {}
        self._tasks = BackgroundTasks()

    def look_soon(self, run: ActiveRun) -> None:
        """It is not placed before it has been looked at."""
        if not run.blocked:
            run.blocked = LOOKING
        self._tasks.spawn(self.look(run))

    def look_at_all(self) -> None:
        """Something was installed or removed."""
        for run in self._supervisor.active.values():
            if run.is_queued:
                self._tasks.spawn(self.look(run))

    async def venvs_of(self, run: ActiveRun) -> tuple[Path, ...]:
        """Those it runs in, or would run in."""
        try:
            command = await asyncio.to_thread(self._specs.command_of, run.run_id, run.config)
        except MosaicError:
            return run.venvs
        return (*run.venvs, *(venv.path for venv in command.venvs if venv.path is not None))

    async def look(self, run: ActiveRun, is_new: bool = False) -> None:
        """`is_new`: it is not in the queue yet, and nothing else may happen to it."""
        files = self._home.run(run.run_id)
        try:
            command = await asyncio.to_thread(self._specs.command_of, run.run_id, run.config)
            agreement = await asyncio.to_thread(kept_agreement, files)
            missing = command.to_install if agreement is not None else command.missing
        except MosaicError:
            agreement, missing = None, ()  # launching it will say what is wrong
        except Exception:
            self._unblock(run)
            raise
        if not run.is_queued:
            return
        if not missing:
            # What it has waited for may go on: another one holds all of it.
            self._installs.pop(run.run_id, None)
            self._unblock(run)
            return
        if agreement is None or is_new:
            self._block(run, waiting_for_somebody(missing, run.run_id))
            return
        refusal = next((venv.problem for venv in missing if venv.problem is not None), None)
        refusal = refusal or agreed_error(missing, agreement.most_bytes)
        if refusal is not None:
            await self._fail(run, refusal)
            return
        try:
            installs = [self._start_install(venv) for venv in missing]
        except BundleError as error:
            await self._fail(run, error)
            return
        self._installs[run.run_id] = {install.key for install in installs}
        self._block(run, installing(installs[0].name, installs[0].progress))

    def on_change(self, install: Install) -> None:
        """Called by the installs, on the event loop."""
        waiting = [
            run
            for run_id, keys in self._installs.items()
            if install.key in keys and (run := self._supervisor.active.get(run_id)) is not None
        ]
        if not install.progress.is_over:
            for run in waiting:
                self._block(run, installing(install.name, install.progress))
            return
        for run in waiting:
            self._installs.pop(run.run_id, None)
        match install.progress.phase:
            case InstallPhase.DONE:
                self.look_at_all()
            case InstallPhase.FAILED:
                for run in waiting:
                    self._tasks.spawn(self._fail(run, _error_of(install)))
            case _ if install.was_canceled:  # and not the end of the daemon
                for run in waiting:
                    self._tasks.spawn(self._let_wait(run))

    async def close(self) -> None:
        await self._tasks.close()

    async def _let_wait(self, run: ActiveRun) -> None:
        """Who canceled the install took back what was agreed for the runs that waited for it."""
        await asyncio.to_thread(revoke_agreement, self._home.run(run.run_id))
        await self.look(run)

    async def _fail(self, run: ActiveRun, error: BundleError) -> None:
        if not run.is_queued:
            return
        reason = FailureReason(FailureKind.LAUNCH_ERROR, error.message, error.hint)
        await self._supervisor.apply_for_sure(run, Failed(reason))
        # Where it is tried again, launching it begins with another look.
        run.blocked = ""

    def _block(self, run: ActiveRun, sentence: str) -> None:
        if not run.is_queued or run.blocked == sentence:
            return
        run.blocked = sentence
        run.record = replace(run.record, waiting=sentence)
        self._supervisor.feed.notify(run.run_id)

    def _unblock(self, run: ActiveRun) -> None:
        if run.blocked:
            run.blocked = ""
            self._supervisor.queue_changed.set()


def installing(name: str, progress: InstallProgress) -> str:
    if progress.phase is InstallPhase.WAITING:
        return f"installing {name}: waiting for another install"
    return f"installing {name}: {progress.percent}"


def _error_of(install: Install) -> BundleError:
    progress = install.progress
    return BundleError(progress.message, hint=progress.hint, bundle=install.name)
