"""Names of the files of one run, and the documents run host and daemon exchange through them.

runs/<RUN>/
  run.json                  who submitted what and when; enough to rebuild the registry
  events.jsonl              the journal; events.jsonl.gz once the run is over, if it is long
  telemetry.sqlite          what the daemon ingested from it
  logs/<worker>.stdout.log  logs/<worker>.stderr.log
  analytics.json
  bundle-lock.txt           what the worker's venv was made from, where it has one
  bundle-lock-2.txt …       the same of programs that it runs in other venvs
  install.json              what may be installed for it while it waits
  recordings/attempt-<n>.rec  actions and keyframes, to simulate episodes again
  attempts/<n>/             one folder per attempt, owned by that attempt's run host
    lock  claim  live.json  exit.json  host.log  worker.token

A worker has the same user as its run host and can write into all of them. So whoever reads one
believes nothing: `from_dict` of each record goes through it field by field and raises
CorruptStoreError at the first that is not what it must be.

Named tuples rather than dataclasses: importing `dataclasses` alone would cost every run host, of
which there is one per attempt, a quarter of its start.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from mosaic.errors import CorruptStoreError
from mosaic.processes import ProcessIdentity

# More than the longest tail of stderr can become in exit.json; whatever is larger is not ours.
MAX_RECORD_BYTES = 1_048_576
# The kernel's own limits.
_MAX_PID = 2**22
_MAX_SIGNAL = 64
_MAX_COUNT = 2**53
_MAX_TEXT = 100_000


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

    @property
    def bundle_lock(self) -> Path:
        return self.directory / "bundle-lock.txt"

    @property
    def bundle_locks(self) -> tuple[Path, ...]:
        """The same, followed by those of the few programs that a worker may run elsewhere."""
        first = self.bundle_lock
        more = (first.with_name(f"{first.stem}-{number}.txt") for number in range(2, 6))
        return (first, *more)

    @property
    def install_agreement(self) -> Path:
        return self.directory / "install.json"

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
    # A random word that only exit.json reveals. The daemon keeps no more than its hash, and the
    # worker sees neither, so nobody but the run host can have written an exit.json that holds it.
    exit_proof: str = ""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AttemptSpec:
        values = dict(data)
        for name in ("argv", "shm_prefixes"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


class ClaimRecord(NamedTuple):
    """claim: the run host that may start this attempt and the control groups it is to make.

    Or, with `is_refused`, that recovery has taken it so that the attempt can never start.
    """

    host: ProcessIdentity | None
    groups: tuple[str, ...] = ()
    is_refused: bool = False

    @classmethod
    def from_dict(cls, data: Any) -> ClaimRecord:
        fields = _Fields("claim", data)
        if "refused_by" in fields:
            return cls(None, is_refused=True)
        return cls(fields.process(), fields.texts("groups"))


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
    def from_dict(cls, data: Any) -> LiveRecord:
        fields = _Fields("live.json", data)
        return cls(
            host=fields.part("host").process(),
            worker=fields.part("worker").process(),
            control_socket=fields.text("control_socket"),
            started_at=fields.number("started_at"),
            containment=fields.text("containment"),
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
    # The most it was seen to use, pages that its processes share counted once.
    max_rss_mb: float = 0.0
    cpu_seconds: float = 0.0
    error: str = ""  # with "start_failed": what the system said
    stderr_tail: tuple[str, ...] = ()
    memory_limit_mb: int | None = None
    # Processes of the run that the kernel killed for lack of memory, where their group counts them.
    oom_kills: int = 0
    # By how much the whole machine's count rose in the last seconds; None where there is none.
    machine_oom_kills: int | None = None
    machine_memory_mb: int = 0
    # The word from the specification: only the run host knew it.
    proof: str = ""

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_dict(cls, data: Any) -> ExitRecord:
        """Fields of a newer run host are left out; what an older one did not know has a default."""
        fields = _Fields("exit.json", data)
        return cls(
            run_id=fields.text("run_id"),
            attempt=fields.count("attempt"),
            exit_code=fields.count_or_none("exit_code", 255),
            signal=fields.count_or_none("signal", _MAX_SIGNAL),
            started_at=fields.number("started_at"),
            finished_at=fields.number("finished_at"),
            stop_reason=fields.text("stop_reason", ""),
            was_killed=fields.flag("was_killed", False),
            swept_processes=fields.count("swept_processes", default=0),
            max_rss_mb=fields.number("max_rss_mb", 0.0),
            cpu_seconds=fields.number("cpu_seconds", 0.0),
            error=fields.text("error", ""),
            stderr_tail=fields.texts("stderr_tail"),
            memory_limit_mb=fields.count_or_none("memory_limit_mb"),
            oom_kills=fields.count("oom_kills", default=0),
            machine_oom_kills=fields.count_or_none("machine_oom_kills"),
            machine_memory_mb=fields.count("machine_memory_mb", default=0),
            proof=fields.text("proof", ""),
        )


class _Fields:
    """A JSON object, read field by field; without a default a field must be there."""

    def __init__(self, name: str, data: Any) -> None:
        self._name = name
        if not isinstance(data, dict):
            raise self._wrong("it is no JSON object")
        self._data: dict[str, Any] = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def part(self, key: str) -> _Fields:
        return _Fields(f"{self._name}: {key}", self._data.get(key))

    def process(self) -> ProcessIdentity:
        pid = self.count("pid", _MAX_PID)
        if pid == 0:
            raise self._wrong("pid is 0")
        return ProcessIdentity(pid, self.count("start_ticks"), self.text("boot_id"))

    def text(self, key: str, default: str | None = None) -> str:
        value = self._data.get(key, default)
        if not _is_text(value):
            raise self._wrong(f"{key} is no text")
        return str(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._data.get(key, ())
        if not isinstance(value, list | tuple) or not all(map(_is_text, value)):
            raise self._wrong(f"{key} is no list of texts")
        return tuple(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self._data.get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(f"{key} is neither true nor false")
        return value

    def count(self, key: str, most: int = _MAX_COUNT, default: int | None = None) -> int:
        value = self._data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self._wrong(f"{key} is no number from 0 to {most}")
        return value

    def count_or_none(self, key: str, most: int = _MAX_COUNT) -> int | None:
        return None if self._data.get(key) is None else self.count(key, most)

    def number(self, key: str, default: float | None = None) -> float:
        value = self._data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(f"{key} is no number")
        if not 0 <= value <= _MAX_COUNT:  # nor is it NaN
            raise self._wrong(f"{key} is out of range")
        return float(value)

    def _wrong(self, what: str) -> CorruptStoreError:
        return CorruptStoreError(
            f"{self._name}: {what}",
            hint="something other than MOSAIC wrote it; it is set aside and the rest goes on",
        )


def _is_text(value: object) -> bool:
    """Text of bounded length that every store and wire can hold: no lone surrogates."""
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
