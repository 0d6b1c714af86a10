"""Run: what a worker's training function gets: its config, its reports, and requests to stop or
pause.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.events import EVENT_SCHEMA_VERSION, PROTOCOL, EventType
from mosaic.contracts.manifest import CheckpointEntry
from mosaic.worker.analytics import add_checkpoint
from mosaic.worker.assignment import Assignment
from mosaic.worker.control import BUDGET_REASONS, MAX_STEPS, Control
from mosaic.worker.event_writer import EventWriter, identity_fields
from mosaic.worker.journal import Journal
from mosaic.worker.json_text import encode

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Heartbeat:
    """Calls `beat` every `interval_s` seconds until stopped."""

    def __init__(self, interval_s: float, beat: Callable[[], None]) -> None:
        self._interval_s = interval_s
        self._beat = beat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Returns when no further beat can come; a beat that hangs is not waited for long."""
        self._stopped.set()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_s):
            self._beat()


class Rate:
    """Steps per second since the last look."""

    def __init__(self) -> None:
        self._steps = 0
        self._at = time.monotonic()

    def since_last_look(self, steps: int) -> float:
        now = time.monotonic()
        rate = (steps - self._steps) / max(now - self._at, 1e-3)
        self._steps, self._at = steps, now
        return rate


def resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * _PAGE_BYTES / 1e6


ConfigType = TypeVar("ConfigType")


def _drop(event: object) -> None:
    """Takes the journal's place when the run is over."""


class Run(EventWriter, Generic[ConfigType]):
    """One run, seen from inside. `metric`, `step` and `episode` come from EventWriter.

    A training loop calls `should_stop()` as often as it likes; it blocks while the run is paused.
    """

    config: ConfigType

    def __init__(
        self,
        assignment: Assignment,
        capabilities: WorkerCapabilities,
        journal: Journal,
        control: Control,
    ) -> None:
        super().__init__(journal, assignment)
        self.assignment = assignment
        self.capabilities = capabilities
        self.run_id = assignment.run_id
        self.agent_id = assignment.agent_id
        self.worker_id = assignment.worker_id
        self.attempt = assignment.attempt
        self.directory = assignment.directory
        self.output_directory = assignment.output_directory
        self.control = control
        self.total_steps: int | None = None
        self.total_episodes: int | None = None
        self.findings: Mapping[str, Any] = {}  # what the worker's check found out
        self.is_stopping = False  # the training function has been told to stop
        self._started = time.monotonic()
        self._rate = Rate()
        self._heartbeat: Heartbeat | None = None
        self._has_announced = False

    @property
    def stop_reason(self) -> str:
        """Why the run was told to stop ("user_cancel", "max_steps", "sigterm", …), or empty."""
        return self.control.stop_reason

    @property
    def duration_s(self) -> float:
        return time.monotonic() - self._started

    def should_stop(self) -> bool:
        """True when the training has to end now. Blocks while the run is paused."""
        return self.control.needs_attention and self._attend()

    def progress(
        self,
        *,
        steps: int | None = None,
        episodes: int | None = None,
        total_steps: int | None = None,
        total_episodes: int | None = None,
    ) -> None:
        """How far it is. For workers that do not report each step, and to say where it ends."""
        if steps is not None:
            self.steps = int(steps)
        if episodes is not None:
            self.episodes = int(episodes)
        if total_steps is not None:
            self.total_steps = int(total_steps)
        if total_episodes is not None:
            self.total_episodes = int(total_episodes)
        if not self._has_announced:
            self._has_announced = True
            self._beat()
        if self.steps >= self._step_limit:
            self._on_step_limit()

    def checkpoint_saved(
        self,
        path: str | os.PathLike[str],
        step: int,
        sha256: str = "",
        metric: float | None = None,
        is_best: bool = False,
        is_final: bool = False,
    ) -> None:
        """A checkpoint is complete on disk; it enters analytics.json."""
        entry = CheckpointEntry(
            path=self._shown_path(path),
            step=int(step),
            sha256=sha256,
            metric=None if metric is None else float(metric),
            is_best=is_best,
            is_final=is_final,
        )
        add_checkpoint(self, entry)
        self.lifecycle(EventType.CHECKPOINT_SAVED, vars(entry))

    def checkpoint_loaded(self, path: str | os.PathLike[str], step: int) -> None:
        payload = {"path": self._shown_path(path), "step": int(step)}
        self.lifecycle(EventType.CHECKPOINT_LOADED, payload)

    def heartbeat(self, **details: Any) -> None:
        """A sign of life right now, with details from the worker, such as a batch's result."""
        self._beat(details)

    def note(self, text: str) -> None:
        """A sentence for people: what was chosen, how a schedule continues."""
        self._beat({"note": text})

    def answer(self, command: Mapping[str, Any], ok: bool, text: str, **details: Any) -> None:
        """What came of a command that somebody sent (`control.on_command`), for that person."""
        said = {"request": command.get("request"), "command": command.get("command")}
        self._beat({"answer": {**said, "ok": bool(ok), "text": str(text), **details}})

    def register(self) -> None:
        """The handshake: always the first line of an attempt."""
        capabilities = self.capabilities.to_dict()
        for name in ("config_schema", "bundle_rules"):
            capabilities.pop(name)  # large, and the catalog has it
        body = encode(
            {
                "schema_version": EVENT_SCHEMA_VERSION,
                "protocol": PROTOCOL,
                "capabilities": capabilities,
                "attempt": self.attempt,
                "pid": os.getpid(),
            }
        )
        who = identity_fields(self.assignment)
        self._append(f'"type":"worker_registered","timestamp":{time.time():.6f},{who}{body[1:-1]}')
        self._journal.flush()

    def start(
        self,
        config: ConfigType,
        shown_config: Mapping[str, Any],
        findings: Mapping[str, Any] | None = None,
    ) -> None:
        """The config is valid: announce the run and begin to send heartbeats."""
        self.config = config
        self.findings = findings or {}
        self.total_steps = getattr(config, "total_timesteps", None)
        self.total_episodes = getattr(config, "episodes", None)
        payload = {
            "worker_type": self.capabilities.worker_type,
            "config": shown_config,
            "total_steps": self.total_steps,
            "total_episodes": self.total_episodes,
            "env_id": getattr(config, "env_id", None),
            "seed": getattr(config, "seed", None),
            "pid": os.getpid(),
            "python": sys.version.partition(" ")[0],
        }
        self.lifecycle(EventType.RUN_STARTED, {**payload, **self.findings})
        self._heartbeat = Heartbeat(self.assignment.heartbeat_s, self._beat)

    def finish(self, kind: EventType, payload: Mapping[str, Any]) -> None:
        """The last line of an attempt; whatever a stray thread reports afterwards is dropped."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        summary = {
            "steps": self.steps,
            "episodes": self.episodes,
            "total_steps": self.total_steps,
            "total_episodes": self.total_episodes,
            "duration_s": round(self.duration_s, 3),
        }
        self.lifecycle(kind, {**payload, **summary})
        self._append = self._defer = _drop

    @property
    def ended_by_request(self) -> bool:
        """True when the training ended because somebody asked, not because its work was done."""
        return self.is_stopping and self.stop_reason not in BUDGET_REASONS

    def _attend(self) -> bool:
        if self.control.is_paused and not self.stop_reason:
            self.lifecycle(EventType.RUN_PAUSED, {"steps": self.steps, "episodes": self.episodes})
            self.control.wait_while_paused()
            if not self.stop_reason:
                self.lifecycle(EventType.RUN_RESUMED, {"steps": self.steps})
        self.is_stopping = self.control.settle()
        return self.is_stopping

    def _on_step_limit(self) -> None:
        if not self.stop_reason:
            self.control.request_stop(MAX_STEPS)

    def _beat(self, details: Mapping[str, Any] | None = None) -> None:
        payload = {
            "steps": self.steps,
            "episodes": self.episodes,
            "total_steps": self.total_steps,
            "total_episodes": self.total_episodes,
            "rss_mb": round(resident_mb(), 1),
            "steps_per_second": round(self._rate.since_last_look(self.steps), 1),
            "paused": self.control.is_paused,
        }
        self.lifecycle(EventType.HEARTBEAT, {**payload, **(details or {})})

    def _shown_path(self, path: str | os.PathLike[str]) -> str:
        """Relative to the run's directory, so that an archived run stays readable elsewhere."""
        full = Path(path).absolute()
        if self.directory is not None and full.is_relative_to(self.directory):
            return str(full.relative_to(self.directory))
        return str(full)
