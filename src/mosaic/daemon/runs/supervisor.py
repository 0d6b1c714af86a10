"""Carries out what `run_lifecycle` decides: stores states, launches, stops, retries, finishes.

Everything that happens to a run goes through `Supervisor.apply`, one event at a time per run.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mosaic.contracts.manifest import artifact_path, read_manifest
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord, Transition
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.bus.run_bus import RunBus, RunFeed
from mosaic.daemon.executors.attempt_fate import commitment_of
from mosaic.daemon.executors.base import AttemptFate, AttemptKey, AttemptVerdict, Executor
from mosaic.daemon.launch.attempt_spec import SpecBuilder
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.runs.active_run import ActiveRun, ending_event, launch_failure, plausible_verdict
from mosaic.daemon.runs.background_tasks import BackgroundTasks
from mosaic.daemon.runs.exit_failure import unreadable_failure
from mosaic.daemon.runs.ingest import (
    IngestLoop,
    events_of_report,
    final_values,
    is_lasting,
    record_changes,
)
from mosaic.daemon.runs.run_lifecycle import (
    DecideAfterFault,
    Enqueue,
    Event,
    Failed,
    FaultHandled,
    Finish,
    Instruction,
    Launch,
    NeverStarted,
    Paused,
    Placed,
    Registered,
    Release,
    StopHost,
    StopRequested,
    Unpaused,
    decide,
)
from mosaic.errors import (
    BundleError,
    CorruptStoreError,
    MosaicError,
    RunStateError,
    StoreError,
    WorkerStartError,
)
from mosaic.files import atomic_write_json
from mosaic.logs import get_logger
from mosaic.paths import Home
from mosaic.telemetry.ingest import IngestReport
from mosaic.telemetry.queries import metrics_digest

log = get_logger(__name__)

# How long a run host may exceed the grace period before it is killed itself.
HOST_STOP_TIMEOUT_S = 10.0


T = TypeVar("T")

DEFAULT_GRACE_S = 10.0
STORE_RETRY_S = 1.0
SCRIPT_POLL_S = 0.02


class Supervisor:
    def __init__(
        self,
        home: Home,
        registry: Registry,
        executor: Executor,
        vault: SecretVault,
        specs: SpecBuilder,
        feed: RunFeed,
        bus: RunBus,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` tells when a run may be tried again."""
        self.home = home
        self.registry = registry
        self.executor = executor
        self.feed = feed
        self.active: dict[str, ActiveRun] = {}
        self.alarms: dict[str, str] = {}
        self.clock = clock
        # Set whenever the queue is worth another look.
        self.queue_changed = asyncio.Event()
        # Called for a run that was placed, but lacks something that has to be installed.
        self.on_missing: Callable[[ActiveRun], None] = lambda run: None
        self._vault = vault
        self._specs = specs
        self._ingest = IngestLoop(self._on_report, self._on_ingest_trouble, bus)
        self._tasks = BackgroundTasks()
        self._is_closing = False

    # Getting runs in

    def enqueue(self, run: ActiveRun) -> None:
        self.active[run.run_id] = run
        self.queue_changed.set()
        self.feed.notify(run.run_id)

    async def adopt(self, run: ActiveRun) -> None:
        """A live run of an earlier daemon: take it over, or record how it ended meanwhile."""
        self.active[run.run_id] = run
        try:
            await self._take_over(run)
        except Exception as error:  # a root: one run must not keep out the others
            log.exception("run.unreadable", run_id=run.run_id)
            await self._give_up(run, run.key, error)

    async def _take_over(self, run: ActiveRun) -> None:
        self._ingest.add(run.run_id, self.home.run(run.run_id))
        try:
            run.control = await asyncio.to_thread(self._specs.control_of, run.config)
            run.venvs = await asyncio.to_thread(self._specs.venvs_of, run.run_id, run.config)
        except MosaicError as error:  # its worker is not installed any more, but runs
            log.warning("worker.unknown", run_id=run.run_id, error=error)
        proof = partial(self.registry.exit_proof, run.run_id, run.record.attempt)
        run.exit_commitment = await self._persist("registry", proof)
        # An earlier daemon may have stored what the worker said and died before acting on it.
        recall = partial(self._ingest.recall, run.run_id, run.record.attempt)
        await self._take_report(run.run_id, recall)
        verdict = await self._watch_or_examine(run)
        log.info("run.adopted", run_id=run.run_id, fate=verdict.fate, state=run.record.state)
        if verdict.fate is not AttemptFate.ALIVE:
            self._tasks.spawn(self._settle(run.key, verdict))
            return
        if run.control == "signals":
            self._tasks.spawn(self._await_script(run))
        if run.record.stop_requested:
            self._start_stopping(run, "user_cancel", DEFAULT_GRACE_S)

    async def settle_fault(self, run: ActiveRun) -> None:
        """A run found in FAULT: an earlier daemon died before it could decide what follows."""
        self.active[run.run_id] = run
        await self._retrying(run, FaultHandled())

    # What happens to runs

    async def apply(self, run: ActiveRun, event: Event) -> RunRecord:
        """Let the pure lifecycle decide, store the outcome, carry out the instructions."""
        async with run.lock:
            decision = decide(run.status(), event)
            if decision.state is None and not decision.changes:
                return run.record
            now = time.time()
            transition = None
            if decision.state is not None:
                attempt = decision.changes.get("attempt", run.record.attempt)
                transition = Transition(decision.state, now, decision.reason, attempt)
            changes = dict(decision.changes)
            if isinstance(event, Placed):
                changes.update(started_at=now, gpu_slots=run.record.gpu_slots)
            if Release() in decision.instructions:
                changes.update(final_values(run.record))
            if Finish() in decision.instructions:
                changes.update(finished_at=now)
            revision = await self.registry.update(
                run.run_id,
                run.record.state,
                run.record.attempt,
                transition=transition,
                **changes,
            )
            self._remember(run, transition, changes, now, revision)
            for instruction in decision.instructions:
                await self._perform(run, instruction)
        return run.record

    def _remember(
        self,
        run: ActiveRun,
        transition: Transition | None,
        changes: dict[str, Any],
        now: float,
        revision: int,
    ) -> None:
        state = transition.state if transition else run.record.state
        transitions = run.record.transitions + ((transition,) if transition else ())
        run.record = replace(
            run.record,
            **changes,
            state=state,
            transitions=transitions,
            updated_at=now,
            waiting="",
            revision=revision,
        )
        if transition:
            log.info(
                "run.changed",
                run_id=run.run_id,
                state=state,
                attempt=run.record.attempt,
                reason=transition.reason,
            )
        self.feed.notify(run.run_id)

    async def _perform(self, run: ActiveRun, instruction: Instruction) -> None:
        match instruction:
            case Launch():
                self._tasks.spawn(self._launch(run))
            case StopHost(reason):
                self._start_stopping(run, reason, DEFAULT_GRACE_S)
            case Enqueue(failures):
                if failures:
                    pause = run.config.retry.backoff_seconds * 2 ** (failures - 1)
                    run.not_before = self.clock() + pause
                run.queued_at = self.clock()
                run.worker_failure, run.worker_stop_reason = None, ""
                self.queue_changed.set()
            case DecideAfterFault():
                self._tasks.spawn(self._retrying(run, FaultHandled()))
            case Release():
                run.record = replace(run.record, gpu_slots=(), stalled="")
                self.queue_changed.set()
            case Finish():
                self.active.pop(run.run_id, None)
                self._on_ingest_trouble(run.run_id, "")  # it may have complained once more
                self._vault.drop(run.run_id)
                keeping = asyncio.to_thread(apply_keep_rules, self.home, run.record, run.config)
                self._tasks.spawn(keeping)

    async def _launch(self, run: ActiveRun) -> None:
        key = run.key
        try:
            slot = await self.registry.next_slot()
            spec = await asyncio.to_thread(self._specs.build, run.record, run.config, slot)
            run.control = spec.control
            run.exit_commitment = commitment_of(spec.exit_proof)
            await self.registry.keep_exit_proof(run.run_id, key.attempt, run.exit_commitment)
            run.heard_at = time.monotonic()
            self._ingest.add(run.run_id, self.home.run(run.run_id))
            run.venvs = await asyncio.to_thread(self._specs.venvs_of, run.run_id, run.config)
            await self.executor.launch(spec, self._on_gone)
        except BundleError as error:  # it was removed while the run waited
            log.warning("run.unplaced", run_id=run.run_id, error=error)
            run.blocked = error.message
            await self._retrying(run, NeverStarted())
            self.on_missing(run)
            return
        except MosaicError as error:
            await self._retrying(run, Failed(launch_failure(error)))
            return
        log.info("run.launched", run_id=key.run_id, attempt=key.attempt)
        if run.record.stop_requested:
            self._tasks.spawn(self._repeat_stop(run, key))
        if run.control == "signals":
            await self._await_script(run)

    async def _await_script(self, run: ActiveRun) -> None:
        """Scripts do not register; what counts is that their process exists."""
        key = run.key
        while run.key == key and run.record.state is RunState.HSHK:
            if (await self.executor.poll(key)).state is not None:
                await self._retrying(run, Registered("a script; it does not register"))
                return
            await asyncio.sleep(SCRIPT_POLL_S)

    # How attempts end

    def _on_gone(self, key: AttemptKey) -> None:
        if not self._is_closing:
            self._tasks.spawn(self._settle(key))

    async def _settle(self, key: AttemptKey, verdict: AttemptVerdict | None = None) -> None:
        """The run host is gone: read everything it left, then say what became of the attempt."""
        run = self.active.get(key.run_id)
        if run is None or run.key != key or not run.is_live:
            return
        try:
            await self._settle_run(run, key, verdict)
        except Exception as error:  # a root: no run stays live because of what it left
            log.exception("run.unreadable", run_id=run.run_id)
            await self._give_up(run, key, error)

    async def _settle_run(
        self, run: ActiveRun, key: AttemptKey, verdict: AttemptVerdict | None
    ) -> None:
        if verdict is None:
            # Killed while it forks, a host leaves its lock to the child for another moment.
            verdict = await self._watch_or_examine(run)
        if verdict.fate is AttemptFate.ALIVE:
            return
        verdict = plausible_verdict(verdict, run.record.state)
        if verdict.fate in (AttemptFate.LOST, AttemptFate.INTERRUPTED):
            await self.executor.destroy(key)
        await self._take_report(run.run_id, partial(self._ingest.drain, run.run_id))
        self._ingest.forget(run.run_id)
        files = self.home.run(run.run_id)
        digest = await asyncio.to_thread(metrics_digest, files.telemetry)
        run.record = replace(run.record, metrics_digest=digest)
        if run.reported is not None:
            await run.reported  # what the journal said comes before the end
        await self._retrying(run, ending_event(run, verdict, files.attempt(key.attempt).host_log))

    async def _watch_or_examine(self, run: ActiveRun) -> AttemptVerdict:
        adopt = partial(self.executor.adopt, run.key, run.exit_commitment, self._on_gone)
        return await self._persist(f"attempt of {run.run_id}", adopt)

    async def _give_up(self, run: ActiveRun, key: AttemptKey, error: Exception) -> None:
        """Something unforeseen: leave nothing running, record it in the run, serve the others."""
        try:
            await self.executor.destroy(key)
        except Exception:
            log.exception("host.unkillable", run_id=key.run_id)
        await self._retrying(run, Failed(unreadable_failure(f"{type(error).__name__}: {error}")))

    async def _retrying(self, run: ActiveRun, event: Event) -> None:
        """Apply an event that must not be lost, also while the registry cannot be written."""
        try:
            await self._persist("registry", lambda: self.apply(run, event))
        except RunStateError as error:
            log.error("event.refused", run_id=run.run_id, error=error)

    async def apply_for_sure(self, run: ActiveRun, event: Event) -> None:
        """For others: what happened to a run while it waited."""
        await self._retrying(run, event)

    async def _persist(self, alarm: str, work: Callable[[], Awaitable[T]]) -> T:
        """Repeat what must not be lost until the disk takes it; meanwhile there is an alarm."""
        while True:
            try:
                result = await work()
            except StoreError as error:
                self.alarms[alarm] = str(error)
                await asyncio.sleep(STORE_RETRY_S)
            else:
                self.alarms.pop(alarm, None)
                return result

    async def _take_report(self, run_id: str, ask: Callable[[], Awaitable[IngestReport]]) -> None:
        """Apply what the journal says; nothing if journal or store can never be read."""

        async def ask_once() -> IngestReport | None:
            try:
                return await ask()
            except StoreError as error:
                if not is_lasting(error):
                    raise
                log.error("journal.unreadable", run_id=run_id, error=error)
                return None

        report = await self._persist(_ingest_alarm(run_id), ask_once)
        if report is not None:
            self._on_report(run_id, report)

    # Stopping and pausing

    async def stop(self, run: ActiveRun, reason: str, grace_s: float | None) -> RunRecord:
        record = await self.apply(run, StopRequested(reason))
        if grace_s is not None and run.is_live:
            self._start_stopping(run, "user_cancel", grace_s)
        return record

    def _start_stopping(self, run: ActiveRun, reason: str, grace_s: float) -> None:
        if run.stop_task is not None:
            run.stop_task.cancel()
        run.stop_task = self._tasks.spawn(
            stop_host(self.executor, self.feed, run, run.key, reason, grace_s)
        )

    async def _repeat_stop(self, run: ActiveRun, key: AttemptKey) -> None:
        """A stop that came before there was a host may not have reached anybody."""
        while run.stop_task is not None and not run.stop_task.done():
            await asyncio.wait({run.stop_task})
        if run.is_live and run.key == key:
            self._start_stopping(run, "user_cancel", DEFAULT_GRACE_S)

    async def set_paused(self, run: ActiveRun, wanted: bool) -> RunRecord:
        command = "pause" if wanted else "resume"
        reply = await self.executor.control(run.key, {"command": command})
        if not reply.get("ok"):
            raise RunStateError(f"The run cannot {command}: {reply.get('error', 'no reason')}")
        if run.control == "signals":
            return await self.apply(run, Paused() if wanted else Unpaused())
        return run.record  # a worker of the SDK confirms through its journal

    # What the journals say

    def _on_report(self, run_id: str, report: IngestReport) -> None:
        run = self.active.get(run_id)
        if run is None:
            return
        run.heard_at = time.monotonic()
        if 0 < report.attempt < run.record.attempt:
            return  # a store being rebuilt reports old events again
        run.record = replace(run.record, **record_changes(report))
        run.is_progress_stored = False
        if report.failed is not None:
            run.worker_failure = report.failed
        if report.completed is not None:
            run.worker_stop_reason = str(report.completed.get("stop_reason") or "")
        if events := events_of_report(report, run.record.state):
            run.reported = self._tasks.spawn(self._apply_in_order(run, run.reported, events))
        self.feed.notify(run_id)

    async def _apply_in_order(
        self, run: ActiveRun, before: asyncio.Task[None] | None, events: list[Event]
    ) -> None:
        if before is not None:
            await before
        for event in events:
            await self._retrying(run, event)

    def _on_ingest_trouble(self, run_id: str, sentence: str) -> None:
        name = _ingest_alarm(run_id)
        if sentence and run_id in self.active:
            self.alarms[name] = sentence
        else:
            self.alarms.pop(name, None)

    # Housekeeping

    async def close(self) -> None:
        """The daemon ends; runs and their hosts continue."""
        self._is_closing = True
        await self._tasks.close()
        await self._ingest.close()
        await self.executor.close()


def _ingest_alarm(run_id: str) -> str:
    return f"ingest of {run_id}"


async def stop_host(
    executor: Executor, feed: RunFeed, run: ActiveRun, key: AttemptKey, reason: str, grace_s: float
) -> None:
    """Returns once the attempt is over, or it and the worker with it had to be killed."""
    patience_s = grace_s + HOST_STOP_TIMEOUT_S
    try:
        await executor.control(key, {"command": "stop", "reason": reason, "grace_s": grace_s})
    except WorkerStartError as error:
        log.warning("host.silent", run_id=key.run_id, error=error)
        if not await executor.terminate(key):
            patience_s = 0.0  # nobody is left to wait for
    deadline = time.monotonic() + patience_s
    with feed.watch(key.run_id) as watcher:
        while run.is_live and run.key == key:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                log.warning("host.killed", run_id=key.run_id, attempt=key.attempt)
                await executor.destroy(key)
                return
            await watcher.wait(remaining)


def apply_keep_rules(home: Home, record: RunRecord, config: TrainRunConfig) -> None:
    """`persist_logs` and `keep_checkpoints` apply to runs that succeeded; failures keep all."""
    if record.outcome is not Outcome.SUCCEEDED:
        return
    files = home.run(record.run_id)
    if not config.artifacts.persist_logs:
        shutil.rmtree(files.logs, ignore_errors=True)
        log.info("logs.removed", run_id=record.run_id)
    if not config.artifacts.keep_checkpoints:
        _remove_checkpoints(files.directory, files.manifest)
        log.info("checkpoints.removed", run_id=record.run_id)


def _remove_checkpoints(run_directory: Path, manifest_path: Path) -> None:
    try:
        manifest = read_manifest(manifest_path)
    except CorruptStoreError as error:
        log.warning("checkpoints.kept", reason=error.message)
        return
    if manifest is None:
        return
    for entry in manifest.checkpoints:
        # A manifest is written by the worker: it must not point us at somebody else's files.
        try:
            target = artifact_path(run_directory, entry.path, "checkpoints", may_leave=False)
        except CorruptStoreError:
            continue
        if target.is_dir() and target != run_directory.resolve():
            shutil.rmtree(target, ignore_errors=True)
        elif not target.is_dir():
            target.unlink(missing_ok=True)
    atomic_write_json(manifest_path, replace(manifest, checkpoints=()).to_dict())
