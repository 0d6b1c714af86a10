"""Stops a run host: asks on its socket, asks by a signal, and in the end does not ask."""

from __future__ import annotations

import time

from mosaic.daemon.active_run import ActiveRun
from mosaic.daemon.executors.base import AttemptKey, Executor
from mosaic.daemon.streams.run_feed import RunFeed
from mosaic.errors import WorkerStartError
from mosaic.logs import get_logger

log = get_logger(__name__)

# What a run host may take beyond the grace period before it is killed itself.
HOST_PATIENCE_S = 10.0


async def stop_host(
    executor: Executor, feed: RunFeed, run: ActiveRun, key: AttemptKey, reason: str, grace_s: float
) -> None:
    """Returns once the attempt is over, or it and the worker with it had to be killed."""
    patience_s = grace_s + HOST_PATIENCE_S
    try:
        await executor.control(key, {"command": "stop", "reason": reason, "grace_s": grace_s})
    except WorkerStartError as error:
        log.warning("host.silent", run_id=key.run_id, error=error)
        if not await executor.terminate(key):
            patience_s = 0.0  # nobody is there to be waited for
    deadline = time.monotonic() + patience_s
    with feed.watch(key.run_id) as watcher:
        while run.is_live and run.key == key:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                log.warning("host.killed", run_id=key.run_id, attempt=key.attempt)
                await executor.destroy(key)
                return
            await watcher.wait(remaining)
