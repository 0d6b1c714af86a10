"""RunRecord: what the daemon knows about a run, as clients see it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from mosaic.contracts.run_state import FailureReason, Outcome, RunState


class Origin(StrEnum):
    """Whose word a run's files are."""

    HERE = "here"  # a worker of this installation wrote them
    SCRIPT = "script"  # recorded by a program that is not ours, started here
    # From an archive. Everything such a run says is data: nothing it names is ever started,
    # imported or opened without a person's consent.
    IMPORTED = "imported"


class LineageKind(StrEnum):
    """What became of the parent's checkpoint."""

    RESUMED = "resumed"
    EVALUATED = "evaluated"
    PLAYED = "played"
    WARM_STARTED = "warm_started"


@dataclass(frozen=True)
class Lineage:
    """The run another one comes from."""

    parent_run: str
    kind: LineageKind
    step: int | None = None  # of the checkpoint; None: the newest the parent had

    def to_dict(self) -> dict[str, Any]:
        return {"parent_run": self.parent_run, "kind": self.kind.value, "step": self.step}


@dataclass(frozen=True)
class Progress:
    """The numbers of a run, each with one definition: see docs/reference/numbers.md."""

    steps: int = 0
    total_steps: int | None = None
    episodes: int = 0  # finished, of the training
    total_episodes: int | None = None
    last_return: float | None = None
    mean_return: float | None = None  # of the last 100 episodes
    steps_per_second: float | None = None  # over about the last ten seconds
    overall_steps_per_second: float | None = None  # neither pauses nor getting ready included

    @property
    def fraction(self) -> float | None:
        """Between 0 and 1, or None when the worker did not say where it ends."""
        if self.total_steps:
            return min(1.0, self.steps / self.total_steps)
        if self.total_episodes:
            return min(1.0, self.episodes / self.total_episodes)
        return None


@dataclass(frozen=True)
class Transition:
    state: RunState
    at: float
    reason: str
    attempt: int


@dataclass(frozen=True)
class RunRecord:
    run_id: str
    run_name: str  # of no other run of this home: see contracts/run_labels.py
    worker: str
    state: RunState
    outcome: Outcome | None
    attempt: int
    priority: int
    created_at: float
    updated_at: float
    started_at: float | None = None
    finished_at: float | None = None
    agent_id: str = ""
    worker_id: str = ""
    env_id: str = ""
    failure: FailureReason | None = None
    exit_code: int | None = None
    signal: int | None = None
    # Why a run that succeeded stopped early, e.g. "max_steps", or why a person stopped it.
    stop_reason: str = ""
    stop_requested: bool = False
    # Why the run looks stuck ("process is stopped", "no heartbeat for 90 s"); empty when healthy.
    stalled: str = ""
    # Why a queued run waits ("waiting for 2 CPUs; 1 is free"); empty otherwise.
    waiting: str = ""
    last_heartbeat_at: float | None = None
    progress: Progress = Progress()
    cpus: int = 1
    memory_mb: int = 0  # what the queue sets aside for it: its limit, or what it is expected to use
    gpu_slots: tuple[int, ...] = ()
    checkpoint_uri: str = ""
    metrics_digest: str = ""
    quarantined_lines: int = 0
    # Counts up with every change of any run: a cursor for watchers.
    revision: int = 0
    # A pinned run is never chosen by retention.
    pinned: bool = False
    # What a person gave it, as the name is: see contracts/run_labels.py.
    tags: tuple[str, ...] = ()
    note: str = ""
    # Runs that differ only in their seed share a group; empty for a run by itself.
    group: str = ""
    origin: Origin = Origin.HERE
    # The run whose checkpoint this one resumes, evaluates, plays or starts from.
    lineage: Lineage | None = None
    # Only in GetRun: lists leave these out.
    paths: dict[str, str] = field(default_factory=dict)
    transitions: tuple[Transition, ...] = ()
    stderr_tail: tuple[str, ...] = ()
    capabilities: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)  # as submitted
    manifest: dict[str, Any] = field(default_factory=dict)  # analytics.json as it is now

    @property
    def is_over(self) -> bool:
        return self.state is RunState.TERM

    @property
    def failure_reason(self) -> str | None:
        return self.failure.label if self.failure else None

    def to_dict(self) -> dict[str, Any]:
        """The shape of `mosaic show --json`."""
        data = asdict(self)
        data["failure"] = self.failure.to_dict() if self.failure else None
        data["failure_reason"] = self.failure_reason
        data["progress"]["fraction"] = self.progress.fraction
        data["lineage"] = self.lineage.to_dict() if self.lineage else None
        return data


# Every record needs a dictionary of its own here; other defaults a dataclass keeps on the class.
_DICTIONARIES = tuple(item.name for item in fields(RunRecord) if item.default_factory is dict)


def build_record(values: dict[str, Any]) -> RunRecord:
    """A record that takes over the dictionary of its fields; those left out have their defaults.

    Half the time of a frozen dataclass's `__init__`, which guards every single assignment: lists of
    10,000 records are made here.
    """
    for name in _DICTIONARIES:
        if name not in values:
            values[name] = {}
    record = object.__new__(RunRecord)
    object.__setattr__(record, "__dict__", values)
    return record
