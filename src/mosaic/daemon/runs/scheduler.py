"""Places queued runs whenever something has changed: a new run, a free slot, a due retry."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.queue import Demand, choose, waiting_reason
from mosaic.daemon.runs.run_lifecycle import Placed
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.errors import StoreError
from mosaic.logs import get_logger

log = get_logger(__name__)

# The queue is looked at this often even when nobody asked, since waiting changes who may overtake.
LONGEST_WAIT_S = 5.0
STORE_RETRY_S = 1.0


class RunScheduler:
    def __init__(self, supervisor: Supervisor, capacity: Capacity) -> None:
        self._supervisor = supervisor
        self.capacity = capacity

    async def serve(self) -> None:
        while True:
            await self._place_what_fits()
            # Not `wait_for`: before Python 3.12 it forgets that it was canceled when the event
            # comes at the same moment, and the daemon would wait for this loop forever.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    await self._supervisor.queue_changed.wait()
            self._supervisor.queue_changed.clear()

    async def _place_what_fits(self) -> None:
        supervisor = self._supervisor
        for run in supervisor.active.values():
            if run.is_queued and run.blocked:
                self._set_waiting(run, run.blocked)
        queued = [demand_of(run) for run in supervisor.active.values() if _may_start(run)]
        if not queued:
            return
        if sentence := supervisor.alarms.get("disk"):
            self._explain_wait(sentence)
            return
        in_use = [demand_of(run) for run in supervisor.active.values() if run.is_live]
        now = supervisor.clock()
        for placement in choose(queued, in_use, self.capacity, now):
            run = supervisor.active[placement.run_id]
            run.record = replace(run.record, gpu_slots=placement.gpu_slots)
            try:
                await supervisor.apply(run, Placed())
            except StoreError as error:
                supervisor.alarms["registry"] = str(error)
                log.error("run.unplaced", run_id=run.run_id, error=error)
                run.not_before = supervisor.clock() + STORE_RETRY_S
                return
            supervisor.alarms.pop("registry", None)
        in_use = [demand_of(run) for run in supervisor.active.values() if run.is_live]
        for run in supervisor.active.values():
            if _may_start(run):
                self._set_waiting(run, waiting_reason(demand_of(run), in_use, self.capacity, now))

    def _explain_wait(self, sentence: str) -> None:
        for run in self._supervisor.active.values():
            if _may_start(run):
                self._set_waiting(run, sentence)

    def _set_waiting(self, run: ActiveRun, sentence: str) -> None:
        if run.record.waiting != sentence:
            run.record = replace(run.record, waiting=sentence)
            self._supervisor.feed.notify(run.run_id)

    def _patience(self) -> float:
        now = self._supervisor.clock()
        due = [run.not_before - now for run in self._supervisor.active.values() if run.is_queued]
        soonest = min((wait for wait in due if wait > 0), default=LONGEST_WAIT_S)
        return min(soonest, LONGEST_WAIT_S if due else 3600.0)


def _may_start(run: ActiveRun) -> bool:
    return run.is_queued and not run.blocked


def demand_of(run: ActiveRun) -> Demand:
    resources = run.config.resources
    return Demand(
        run_id=run.run_id,
        cpus=resources.cpus,
        memory_mb=run.record.memory_mb,
        gpus_requested=resources.gpus.requested,
        gpus_mandatory=resources.gpus.mandatory,
        priority=run.record.priority,
        created_at=run.position,
        queued_at=run.queued_at,
        not_before=run.not_before,
        gpu_slots=run.record.gpu_slots,
    )
