"""Names of the files of one run, and the documents run host and daemon exchange through them.

runs/<RUN>/
  run.json                  who submitted what and when; enough to rebuild the registry
  events.jsonl              the journal; events.jsonl.gz once the run is over, if it is long
  telemetry.sqlite          what the daemon ingested from it
  logs/<worker>.stdout.log  logs/<worker>.stderr.log
  analytics.json
  recordings/attempt-<n>.rec  actions and keyframes, to simulate episodes again
  attempts/<n>/             one folder per attempt, owned by that attempt's run host
    lock  claim  live.json  exit.json  host.log  worker.token

Named tuples rather than dataclasses: importing `dataclasses` alone would cost every run host, of
which there is one per attempt, a quarter of its start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from mosaic.processes import ProcessIdentity


def shared_memory_prefixes(run_id: str) -> tuple[str, ...]:
    """How names below /dev/shm start that belong to a run and go with it."""
    return (f"mosaic.fastlane.{run_id}", f"mosaic.{run_id}")


class RunFiles(NamedTuple):
    directory: Path

    @property
    def record(self) -> Path:
        return self.directory / "run.json"

    @property
    def journal(self) -> Path:
        return self.directory / "events.jsonl"

    @property
    def telemetry(self) -> Path:
        return self.directory / "telemetry.sqlite"

    @property
    def manifest(self) -> Path:
        return self.directory / "analytics.json"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    def log(self, worker: str, stream: str) -> Path:
        return self.logs / f"{worker}.{stream}.log"

    @property
    def recordings(self) -> Path:
        return self.directory / "recordings"

    def attempt(self, number: int) -> AttemptFiles:
        return AttemptFiles(self.directory / "attempts" / str(number))


class AttemptFiles(NamedTuple):
    directory: Path

    @property
    def lock(self) -> Path:
        """Held (flock) by the run host for as long as it lives: the truth about liveness."""
        return self.directory / "lock"

    @property
    def claim(self) -> Path:
        """Created with O_EXCL by whoever starts this attempt first, or by recovery to forbid it."""
        return self.directory / "claim"

    @property
    def live(self) -> Path:
        return self.directory / "live.json"

    @property
    def exit(self) -> Path:
        return self.directory / "exit.json"

    @property
    def host_log(self) -> Path:
        return self.directory / "host.log"

    @property
    def token(self) -> Path:
        return self.directory / "worker.token"


class AttemptSpec(NamedTuple):
    """What the daemon tells a run host, as one JSON document on its standard input.

    Standard input, because `secrets` must touch neither disk nor argv nor the host's environment.
    """

    run_id: str
    attempt: int
    run_directory: str
    worker_name: str  # names the log files
    argv: tuple[str, ...]
    cwd: str
    environment: dict[str, str]  # complete: the worker sees this and `secrets`, nothing else
    secrets: dict[str, str] = {}  # noqa: RUF012 (never changed in place)
    control_socket: str = ""
    # "stdin": SDK worker, gets JSON lines; "signals": foreign script, paused by SIGSTOP
    control: str = "stdin"
    stdout_events: bool = False
    memory_mb: int | None = None
    max_processes: int = 4096
    max_duration_s: float | None = None
    max_steps: int | None = None  # only for stdout_events workers; the SDK counts its own
    grace_s: float = 10.0
    log_max_bytes: int = 20_000_000
    log_backups: int = 2
    shm_prefixes: tuple[str, ...] = ()  # names below /dev/shm to unlink when the run is over

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AttemptSpec:
        values = dict(data)
        for name in ("argv", "shm_prefixes"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


class LiveRecord(NamedTuple):
    """live.json: written once the worker process exists."""

    host: ProcessIdentity
    worker: ProcessIdentity
    control_socket: str
    started_at: float
    containment: str  # "cgroup" or "subreaper"

    def to_dict(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "host": self.host.to_dict(),
            "worker": self.worker.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LiveRecord:
        return cls(
            host=ProcessIdentity.from_dict(data["host"]),
            worker=ProcessIdentity.from_dict(data["worker"]),
            control_socket=data["control_socket"],
            started_at=data["started_at"],
            containment=data["containment"],
        )


class ExitRecord(NamedTuple):
    """exit.json: the run host's last word, written after the last process of the run is gone."""

    run_id: str
    attempt: int
    exit_code: int | None
    signal: int | None
    started_at: float
    finished_at: float
    # Why the host ended it, if it did: "user_cancel", "time_limit", "max_steps", "memory_limit",
    # "process_limit", "start_failed", "host_terminated", "host_failed"; empty when the worker
    # ended by itself.
    stop_reason: str = ""
    # True when the worker had to be killed after the grace period.
    was_killed: bool = False
    swept_processes: int = 0
    max_rss_mb: float = 0.0
    cpu_seconds: float = 0.0
    error: str = ""  # with "start_failed": what the system said
    stderr_tail: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ExitRecord:
        return cls(**{**data, "stderr_tail": tuple(data.get("stderr_tail", ()))})
