"""The trainer: everything the daemon can do, put together. `rpc` speaks gRPC in front of it."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic import __version__
from mosaic.contracts.bundles import VenvInfo
from mosaic.contracts.consent import CONFIG_OF
from mosaic.contracts.events import MetricPoint
from mosaic.contracts.manifest import MAX_MANIFEST_BYTES
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_state import LIVE_STATES, FailureKind, RunState
from mosaic.daemon.bundles.keeper import BundleKeeper
from mosaic.daemon.bundles.kept_locks import Agreement
from mosaic.daemon.bundles.readiness import ready_by_install
from mosaic.daemon.bundles.waiting import WaitingRuns
from mosaic.daemon.bus.hub import Hub
from mosaic.daemon.bus.run_bus import RunBus, RunFeed
from mosaic.daemon.executors.local import LocalExecutor
from mosaic.daemon.executors.machine import machine_capacity
from mosaic.daemon.history.logs import LogPiece, LogSearch, stream_logs
from mosaic.daemon.history.recordings import Recordings
from mosaic.daemon.history.run_history import RunHistory, stream_events
from mosaic.daemon.history.settings import RunSettings
from mosaic.daemon.keeping.keeper import Keeping
from mosaic.daemon.launch.attempt_spec import SpecBuilder
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.launch.stored_configs import (
    CONFIG_LOST,
    read_stored_config,
    stand_in_config,
    upgrade_home,
)
from mosaic.daemon.registry.quarantine import set_aside_sentence
from mosaic.daemon.registry.reader import RunFilter
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.background_tasks import BackgroundTasks, Uninterrupted
from mosaic.daemon.runs.monitor import RunMonitor
from mosaic.daemon.runs.run_lifecycle import Failed
from mosaic.daemon.runs.scheduler import RunScheduler
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.daemon.runs.worker_sessions import WorkerSessions
from mosaic.daemon.trainer.submission import RunSubmitter, Submission
from mosaic.daemon.workers.catalog import WorkerCatalog
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.errors import ConfigError, RunStateError, StoreError, UnknownRunError
from mosaic.files import tail_lines
from mosaic.foreign.files import parse_shallow_json, read_regular
from mosaic.logs import get_logger
from mosaic.paths import Home, checked_run_id
from mosaic.runhost.control_groups import available_containment
from mosaic.telemetry.journal.files import stored_path
from mosaic.telemetry.queries import recent_metrics

log = get_logger(__name__)

BACKUP_EVERY_S = 3600.0
STDERR_TAIL_LINES = 20
TAKEOVER_TIMEOUT_S = 10.0
# It is kept with the run forever.
MAX_REASON = 200


class Trainer:
    def __init__(self, home: Home, registry: Registry, min_free_mb: int) -> None:
        self.home = home
        self.addresses: list[str] = []
        self._registry = registry
        self._started_at = time.time()
        self._catalog = WorkerCatalog(home)
        self._vault = SecretVault(home)
        self._feed = RunFeed()
        bus = RunBus()
        self.bundles = BundleKeeper(home, self._is_in_use)
        resolver = self.bundles.resolver
        specs = SpecBuilder(home, self._catalog, self._vault, resolver)
        self._supervisor = Supervisor(
            home,
            registry,
            LocalExecutor(home),
            self._vault,
            specs,
            self._feed,
            bus,
        )
        self.hub = Hub(
            bus, self._feed, self._summary, lambda: [*self._supervisor.active], self._journal_of
        )
        self._scheduler = RunScheduler(self._supervisor, machine_capacity())
        self._monitor = RunMonitor(self._supervisor, min_free_mb)
        self._submitter = RunSubmitter(
            home,
            registry,
            self._catalog,
            self._vault,
            self._scheduler.capacity,
            self._enqueue,
            resolver,
        )
        self._waiting = WaitingRuns(home, self._supervisor, specs, self.bundles.begin)
        self.bundles.installs.on_change = self._waiting.on_change
        self.bundles.on_removed = self._waiting.look_at_all
        self._supervisor.on_missing = self._waiting.look_soon
        self.sessions = WorkerSessions(
            home, self._active_run, lambda run: specs.hidden_values(run.run_id, run.config)
        )
        self.history = RunHistory(home.run, self._summary, self._supervisor.active.__contains__)
        self.settings = RunSettings(home)
        self.recordings = Recordings(home, self._catalog, self.get, resolver)
        self.log_search = LogSearch(home, self._summary, self.list_runs)
        self.keeping = Keeping(home, registry, self._supervisor, self.sessions.forget)
        self._containment = available_containment()
        self._tasks = BackgroundTasks()
        self._uninterrupted = Uninterrupted()

    async def start(self) -> None:
        """Take over what an earlier daemon left, then begin to serve the queue."""
        began = time.monotonic()
        await self.keeping.start()
        await self.bundles.start()
        records = await self._registry.live_and_queued()
        unfinished = {record.run_id for record in records}
        self._vault.purge(keep=unfinished)
        await asyncio.to_thread(upgrade_home, self.home, self._vault, unfinished)
        if records:
            # A disk that is full now must not keep the daemon from answering.
            taken = [self._tasks.spawn(self._take_over(record)) for record in records]
            await asyncio.wait(taken, timeout=TAKEOVER_TIMEOUT_S)
        log.info("runs.adopted", count=len(records), seconds=round(time.monotonic() - began, 3))
        self._tasks.keep_running("scheduler", self._scheduler.serve)
        self._tasks.keep_running("monitor", self._monitor.watch)
        self._tasks.keep_running("backup", self._back_up)
        self._tasks.keep_running("retention", self.keeping.retention.watch)
        self._tasks.keep_running("journals", self.keeping.journals.serve)
        self._tasks.spawn(asyncio.to_thread(self.bundles.shelf.current))

    async def _take_over(self, record: RunRecord) -> None:
        config = await asyncio.to_thread(read_stored_config, self.home, record.run_id)
        run = ActiveRun(record, config or stand_in_config(record))
        if record.state in LIVE_STATES:
            await self._supervisor.adopt(run)
        elif record.state is RunState.FAULT:
            await self._supervisor.settle_fault(run)
        elif config is None:
            self._supervisor.active[run.run_id] = run
            await self._supervisor.apply(run, Failed(CONFIG_LOST))
        else:
            await self._waiting.look(run, is_new=True)
            self._enqueue(run)

    def _enqueue(self, run: ActiveRun) -> None:
        self._supervisor.enqueue(run)
        if run.blocked:
            self._waiting.look_soon(run)

    async def _back_up(self) -> None:
        while True:
            await asyncio.sleep(BACKUP_EVERY_S)
            try:
                await self._registry.backup()
            except StoreError as error:
                log.error("backup.failed", error=error)

    async def close(self) -> None:
        await self._tasks.close()
        await self.bundles.close()
        await self._waiting.close()
        await self._submitter.accepting.close()
        await self._uninterrupted.close()
        await self.keeping.close()
        self._feed.close()
        await self._supervisor.close()
        self.history.close()
        await self._registry.close()

    # What clients ask for

    async def submit(
        self,
        config_json: str,
        client_key: str,
        dry_run: bool,
        consent: str | None,
        agreement: Agreement | None = None,
    ) -> Submission:
        return await self._submitter.submit(config_json, client_key, dry_run, consent, agreement)

    async def stop(self, run_id: str, reason: str, grace_s: float | None) -> RunRecord:
        if grace_s is not None and not 0 <= grace_s <= 3600:
            raise ConfigError(f"grace_s is {grace_s}; it must be 0 to 3600", field="grace_s")
        run = await self._not_over(run_id, "stopped")
        # What clients send when nobody gave a reason.
        words = "" if reason == FailureKind.USER_CANCEL else reason[:MAX_REASON]
        return await self._uninterrupted.do(self._supervisor.stop(run, words, grace_s))

    async def pause(self, run_id: str) -> RunRecord:
        run = await self._not_over(run_id, "paused")
        if run.record.state not in (RunState.RDY, RunState.EXEC):
            raise RunStateError(
                f"The run is in state {run.record.state} and cannot be paused",
                hint="only a run in state RDY or EXEC can be paused",
            )
        return await self._uninterrupted.do(self._supervisor.set_paused(run, True))

    async def unpause(self, run_id: str) -> RunRecord:
        run = await self._not_over(run_id, "resumed")
        if run.record.state is not RunState.PAUSE:
            raise RunStateError(
                f"The run is in state {run.record.state}, not paused",
                hint="`mosaic pause RUN` pauses it",
            )
        return await self._uninterrupted.do(self._supervisor.set_paused(run, False))

    async def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]:
        run = await self._not_over(run_id, "controlled")
        if not run.is_live:
            raise RunStateError("The run has not started yet", hint="wait until it is running")
        return await self._supervisor.executor.control(
            run.key, {"command": "send", "line": command}
        )

    async def get(self, run_id: str) -> RunRecord:
        """Everything known about one run."""
        checked_run_id(run_id)
        active = self._supervisor.active.get(run_id)
        record = active.record if active else await self._registry.get(run_id)
        files = self.home.run(run_id)
        stderr_log = files.log(record.worker, "stderr")
        return replace(
            record,
            paths={
                "run_directory": str(files.directory),
                "config": str(self.home.config(run_id)),
                "journal": str(stored_path(files.journal)),
                "telemetry": str(files.telemetry),
                "stdout_log": str(files.log(record.worker, "stdout")),
                "stderr_log": str(stderr_log),
                "manifest": str(files.manifest),
            },
            stderr_tail=tuple(tail_lines(stderr_log, STDERR_TAIL_LINES)),
            config=_config(self.home.config(run_id), record),
            manifest=_document(files.manifest),
        )

    async def list_runs(self, chosen: RunFilter) -> tuple[list[RunRecord], int]:
        records, total = await self._registry.list(chosen)
        active = self._supervisor.active
        return [
            active[record.run_id].record if record.run_id in active else record
            for record in records
        ], total

    async def watch(
        self, run_ids: tuple[str, ...], after_revision: int
    ) -> AsyncIterator[RunRecord]:
        for run_id in run_ids:
            checked_run_id(run_id)
        with self._feed.watch(*run_ids) as watcher:
            if run_ids:
                first = [await self._summary(run_id) for run_id in run_ids]
            else:
                first, _ = await self.list_runs(RunFilter())
            for record in first:
                if record.revision > after_revision or not record.is_over:
                    yield record
            async for changed in watcher.changes():
                for run_id in changed:
                    try:
                        yield await self._summary(run_id)
                    except UnknownRunError:
                        continue  # deleted meanwhile

    async def stream_log(
        self, run_id: str, stream: str, tail: int, after: list[str], follow: bool
    ) -> AsyncIterator[LogPiece]:
        if stream not in ("", "stdout", "stderr"):
            raise ConfigError(f"{stream!r} is not one of stdout, stderr", field="stream")
        record = await self._summary(run_id)
        streams = (stream,) if stream else ("stdout", "stderr")
        paths = {name: self.home.run(run_id).log(record.worker, name) for name in streams}
        is_over = self._is_over(run_id) if follow else lambda: True
        async for piece in stream_logs(run_id, paths, tail, after, is_over, self._feed):
            yield piece

    async def stream_events(
        self, run_id: str, cursor: int, types: frozenset[str], follow: bool
    ) -> AsyncIterator[tuple[list[bytes], int]]:
        await self._summary(run_id)
        is_over = self._is_over(run_id) if follow else lambda: True
        journal = self.home.run(run_id).journal
        async for item in stream_events(run_id, journal, cursor, types, is_over, self._feed):
            yield item

    async def recent_metrics(
        self, run_id: str, count: int, names: tuple[str, ...]
    ) -> list[MetricPoint]:
        await self._summary(run_id)
        store = self.home.run(run_id).telemetry
        return await asyncio.to_thread(recent_metrics, store, count, names or None)

    async def workers(self, refresh: bool) -> list[WorkerEntry]:
        return await asyncio.to_thread(self._workers, refresh)

    def _workers(self, refresh: bool) -> list[WorkerEntry]:
        resolver, python = self.bundles.resolver, self._catalog.python
        return [
            ready_by_install(entry, resolver, python) for entry in self._catalog.entries(refresh)
        ]

    async def prune_bundles(self, dry_run: bool) -> list[VenvInfo]:
        """Those that runs wait for in the queue are kept, too."""
        runs = list(self._supervisor.active.values())
        needed = [await self._waiting.venvs_of(run) for run in runs]
        return await self.bundles.prune(itertools.chain.from_iterable(needed), dry_run)

    def health(self) -> dict[str, Any]:
        runs = self._supervisor.active.values()
        live = [run for run in runs if run.is_live]
        capacity = self._scheduler.capacity
        alarms = list(self._supervisor.alarms.values())
        recovered = self._registry.recovery.sentence
        aside = set_aside_sentence(self._registry.set_aside)
        alarms += filter(None, (recovered, aside, self._vault.problem))
        busy_gpus = {slot for run in live for slot in run.record.gpu_slots}
        return {
            "healthy": not alarms,
            "pid": os.getpid(),
            "started_at": self._started_at,
            "version": __version__,
            "home": str(self.home.root),
            "addresses": self.addresses,
            "live_runs": len(live),
            "queued_runs": sum(run.is_queued for run in runs),
            "alarms": alarms,
            "rss_mb": _rss_mb(),
            "cpus_total": capacity.cpus,
            "cpus_free": max(0, capacity.cpus - sum(run.record.cpus for run in live)),
            "memory_mb_total": capacity.memory_mb,
            "memory_mb_free": max(
                0, capacity.memory_mb - sum(run.record.memory_mb for run in live)
            ),
            "gpus_total": len(capacity.gpus),
            "gpus_free": len(set(capacity.gpus) - busy_gpus),
            "containment": self._containment,
        }

    def note_unusable(self, run_id: str, reason: str) -> None:
        """A record that cannot be sent is left out and reported; all others are served."""
        self._registry.note_unusable(run_id, reason)

    async def _summary(self, run_id: str) -> RunRecord:
        active = self._supervisor.active.get(checked_run_id(run_id))
        return active.record if active else await self._registry.get(run_id)

    def _journal_of(self, run_id: str) -> Path:
        return self.home.run(run_id).journal

    def _is_in_use(self, venv: Path) -> bool:
        """Asked in threads."""
        runs = list(self._supervisor.active.values())
        return any(venv in run.venvs for run in runs if run.is_live)

    def _active_run(self, run_id: str) -> ActiveRun:
        run = self._supervisor.active.get(checked_run_id(run_id))
        if run is None:
            raise RunStateError("The run is over or unknown", hint="see `mosaic runs`")
        return run

    async def _not_over(self, run_id: str, verb: str) -> ActiveRun:
        active = self._supervisor.active
        run = active.get(checked_run_id(run_id))
        if run is None:
            record = await self._registry.get(run_id)
            if not record.is_over:  # it was stored a moment ago, and is about to be queued
                await self._submitter.accepting.wait()
                if run_id in active:
                    return active[run_id]
                record = await self._registry.get(run_id)
            raise RunStateError(
                f"The run is over ({record.outcome}) and cannot be {verb}",
                hint=f"see `mosaic show {run_id}`",
            )
        return run

    def _is_over(self, run_id: str) -> Any:
        return lambda: run_id not in self._supervisor.active


def _config(path: Path, record: RunRecord) -> dict[str, Any]:
    """Submitting the config of an imported run again must not make it look like one's own."""
    config = _document(path)
    metadata = config.get("metadata", {})
    if config and record.origin is Origin.IMPORTED and isinstance(metadata, dict):
        return {**config, "metadata": {**metadata, CONFIG_OF: record.run_id}}
    return config


def _document(path: Path) -> dict[str, Any]:
    """A JSON object of the run; empty where there is none, or what is there is damaged."""
    try:
        data = parse_shallow_json(read_regular(path, MAX_MANIFEST_BYTES))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _rss_mb() -> float:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
