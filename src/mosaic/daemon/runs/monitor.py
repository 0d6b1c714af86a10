"""Looks after runs and disk every second: stalled runs, missing heartbeats, full disks.

All waiting is measured with the monotonic clock, so a clock that jumps a day raises no alarm.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from dataclasses import replace

from mosaic.contracts.run_state import RunState
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.errors import StoreError
from mosaic.logs import get_logger

log = get_logger(__name__)

LOOK_S = 1.0
# Importing a large framework from a cold disk takes its time; nothing is killed for it.
HANDSHAKE_S = 60.0
DISK_ALARM = "disk"


def heartbeat_interval_s() -> float:
    return float(os.environ.get("MOSAIC_HEARTBEAT_S", "30"))


def stall_reason(
    process_state: str | None, silent_s: float, interval_s: float, state: RunState, control: str
) -> str:
    """Why a live run looks stuck, or an empty string."""
    if state is RunState.PAUSE:
        return ""
    if process_state in ("T", "t"):
        return "the process is stopped (SIGSTOP)"
    if control != "stdin":
        return ""  # scripts neither register nor send heartbeats: their silence means nothing
    if state is RunState.HSHK and silent_s > HANDSHAKE_S:
        return f"the worker has not registered for {silent_s:.0f} s"
    if state is not RunState.HSHK and silent_s > 2 * interval_s + 5:
        return f"no heartbeat for {silent_s:.0f} s"
    return ""


class RunMonitor:
    def __init__(self, supervisor: Supervisor, min_free_mb: int) -> None:
        self._supervisor = supervisor
        self._min_free_mb = min_free_mb
        self._interval_s = heartbeat_interval_s()

    async def watch(self) -> None:
        while True:
            self._check_disk()
            for run in list(self._supervisor.active.values()):
                if run.is_live:
                    await self._check_safely(run)
            await self._store_progress()
            await asyncio.sleep(LOOK_S)

    async def _check_safely(self, run: ActiveRun) -> None:
        """An error of one run is logged and does not keep us from checking the others."""
        try:
            await self._check_run(run)
        except Exception as error:  # noqa: BLE001 (a root: the loop serves all runs)
            self._tell(run, f"it cannot be looked after: {error}")

    async def _check_run(self, run: ActiveRun) -> None:
        worker = await self._supervisor.executor.poll(run.key)
        silent_s = time.monotonic() - run.heard_at
        reason = stall_reason(
            worker.state, silent_s, self._interval_s, run.record.state, run.control
        )
        self._tell(run, reason or worker.problem)

    def _tell(self, run: ActiveRun, reason: str) -> None:
        if bool(reason) != bool(run.record.stalled):
            event = log.warning if reason else log.info
            event("run.stalled" if reason else "run.recovered", run_id=run.run_id, reason=reason)
        if reason != run.record.stalled:
            run.record = replace(run.record, stalled=reason)
            self._supervisor.feed.notify(run.run_id)

    def _check_disk(self) -> None:
        free_mb = shutil.disk_usage(self._supervisor.home.trainer).free / 1e6
        alarms = self._supervisor.alarms
        if free_mb < self._min_free_mb:
            if DISK_ALARM not in alarms:
                log.error("disk.filled", free_mb=round(free_mb), limit_mb=self._min_free_mb)
            alarms[DISK_ALARM] = (
                f"only {free_mb:.0f} MB are free; no run is started below {self._min_free_mb} MB. "
                "Free some space; launching then goes on by itself."
            )
        elif alarms.pop(DISK_ALARM, None):
            log.info("disk.recovered", free_mb=round(free_mb))
            self._supervisor.queue_changed.set()

    async def _store_progress(self) -> None:
        """Progress is worth keeping, not worth a synced commit of its own: one batch a second."""
        runs = [run for run in self._supervisor.active.values() if not run.is_progress_stored]
        if not runs:
            return
        for run in runs:
            run.is_progress_stored = True
        try:
            await self._supervisor.registry.update_progress([run.record for run in runs])
        except StoreError as error:
            self._supervisor.alarms["registry"] = str(error)
            for run in runs:
                run.is_progress_stored = False
        else:
            self._supervisor.alarms.pop("registry", None)
