"""Run states, which may follow which, and the typed reasons why a run ended."""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class RunState(StrEnum):
    INIT = "INIT"  # accepted: validated, stored, queued
    HSHK = "HSHK"  # launched: waiting for the worker to register
    RDY = "RDY"  # the worker has registered
    EXEC = "EXEC"  # the first step, episode or metric has arrived
    PAUSE = "PAUSE"
    FAULT = "FAULT"  # the attempt failed; a retry may follow
    TERM = "TERM"  # over, with an outcome


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


LEGAL_TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    # INIT to TERM: canceled while queued. INIT to FAULT: could not be launched.
    RunState.INIT: frozenset({RunState.HSHK, RunState.FAULT, RunState.TERM}),
    # HSHK to INIT: the run host provably never started, so the run is queued again.
    RunState.HSHK: frozenset({RunState.INIT, RunState.RDY, RunState.FAULT, RunState.TERM}),
    RunState.RDY: frozenset({RunState.EXEC, RunState.PAUSE, RunState.FAULT, RunState.TERM}),
    RunState.EXEC: frozenset({RunState.PAUSE, RunState.FAULT, RunState.TERM}),
    RunState.PAUSE: frozenset({RunState.EXEC, RunState.FAULT, RunState.TERM}),
    RunState.FAULT: frozenset({RunState.INIT, RunState.TERM}),
    RunState.TERM: frozenset(),
}

# States in which a run host owns the run.
LIVE_STATES = frozenset({RunState.HSHK, RunState.RDY, RunState.EXEC, RunState.PAUSE})


class FailureKind(StrEnum):
    EXIT_CODE = "exit_code"  # the worker returned a non-zero status
    SIGNAL = "signal"  # the worker was killed by a signal
    WORKER_ERROR = "worker_error"  # the worker reported a typed failure
    MEMORY_LIMIT = "memory_limit"  # it used more than resources.memory_mb
    GPU_MEMORY = "gpu_memory"  # its GPU had no memory left
    HOST_MEMORY = "host_memory"  # the machine had no memory left for it
    PROCESS_LIMIT = "process_limit"  # it started too many processes
    TIME_LIMIT = "time_limit"  # it ignored the stop at schedule.max_duration_seconds
    LAUNCH_ERROR = "launch_error"  # the worker could not be started
    LOST = "lost"  # the run host died without a word
    INTERRUPTED = "interrupted"  # the machine was restarted
    UNREADABLE = "unreadable"  # nothing can be known: its files broke what had to read them
    SECRET_LOST = "secret_lost"  # a secret was needed again but is kept nowhere
    USER_CANCEL = "user_cancel"  # a person stopped it


# Another attempt would need as much memory as this one.
OUT_OF_MEMORY = frozenset(
    {FailureKind.MEMORY_LIMIT, FailureKind.GPU_MEMORY, FailureKind.HOST_MEMORY}
)


@dataclass(frozen=True)
class FailureReason:
    """Why an attempt ended badly: what kind, in one sentence, and what to do."""

    kind: FailureKind
    message: str = ""
    hint: str = ""
    exit_code: int | None = None
    signal: int | None = None
    error_type: str | None = None

    @property
    def label(self) -> str:
        """Short and stable, for tables and scripts: `exit_code_3`, `signal_9`, `user_cancel`."""
        if self.kind is FailureKind.EXIT_CODE:
            return f"exit_code_{self.exit_code}"
        if self.kind is FailureKind.SIGNAL:
            return f"signal_{self.signal}"
        return self.kind.value

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "kind": self.kind.value}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> FailureReason:
        return cls(**{**data, "kind": FailureKind(data["kind"])})


def exit_sentence(exit_code: int | None, signal_number: int | None) -> str:
    """An exit status as a sentence a person can act on."""
    if signal_number is not None:
        try:
            name = signal.Signals(signal_number).name
        except ValueError:
            name = f"signal {signal_number}"
        sentence = f"The worker was killed by {name}."
        if signal_number == signal.SIGKILL:
            sentence += " Often the system ran out of memory; see `dmesg`."
        return sentence
    if exit_code == 0:
        return "The worker ended normally."
    if exit_code is not None and exit_code > 128:
        child = f"a child died of signal {exit_code - 128}"
        return f"The worker ended with exit code {exit_code} ({child})."
    return f"The worker ended with exit code {exit_code}."
