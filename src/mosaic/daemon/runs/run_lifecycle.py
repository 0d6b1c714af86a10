"""The life of a run as a pure function: (run, event) in, next states and instructions out.

Nothing here touches a process, a file or a clock. The supervisor stores the states, carries the
instructions out, and reports what happened as the next event.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mosaic.contracts.run_files import ExitRecord
from mosaic.contracts.run_state import (
    LEGAL_TRANSITIONS,
    LIVE_STATES,
    OUT_OF_MEMORY,
    FailureKind,
    FailureReason,
    Outcome,
    RunState,
)
from mosaic.daemon.runs.exit_failure import early_stop_reason, failure_of
from mosaic.errors import RunStateError


@dataclass(frozen=True)
class RunStatus:
    """The part of a run that decides what may happen next."""

    state: RunState
    attempt: int = 0
    failures: int = 0  # attempts that ended in FAULT so far
    max_attempts: int = 1
    stop_requested: bool = False
    stop_reason: str = ""  # as the person who asked for the stop put it, if given
    failure: FailureKind | None = None  # why the last attempt ended badly


# What can happen to a run.


@dataclass(frozen=True)
class Placed:
    """The queue gave it its resources."""


@dataclass(frozen=True)
class NeverStarted:
    """Recovery proved that this attempt's run host never started the worker."""


@dataclass(frozen=True)
class Registered:
    """The worker's first record has arrived, or it is a script that never sends one."""

    reason: str = "worker registered"


@dataclass(frozen=True)
class Sampled:
    """The first step, episode or metric has arrived."""


@dataclass(frozen=True)
class Paused:
    pass


@dataclass(frozen=True)
class Unpaused:
    pass


@dataclass(frozen=True)
class StopRequested:
    reason: str = ""  # in the person's own words, if given


@dataclass(frozen=True)
class Exited:
    """The run host has written exit.json and everything the worker wrote is ingested."""

    record: ExitRecord
    # Payload of the worker's own run_failed event, if it sent one.
    worker_failure: dict[str, Any] | None = None
    # stop_reason of the worker's run_completed event, e.g. "max_steps".
    worker_stop_reason: str = ""


@dataclass(frozen=True)
class Failed:
    """It ended without exit.json: lost, interrupted, or never launchable."""

    failure: FailureReason


@dataclass(frozen=True)
class FaultHandled:
    """Time to decide what follows a fault: another attempt, or the end."""


Event = (
    Placed
    | NeverStarted
    | Registered
    | Sampled
    | Paused
    | Unpaused
    | StopRequested
    | Exited
    | Failed
    | FaultHandled
)

# How it can end without its run host reporting it.
_GONE = (FailureKind.LOST, FailureKind.INTERRUPTED, FailureKind.UNREADABLE)

# What the supervisor must do.


@dataclass(frozen=True)
class Launch:
    attempt: int


@dataclass(frozen=True)
class StopHost:
    reason: str


@dataclass(frozen=True)
class Enqueue:
    """Back into the queue; `failures` says how long to back off."""

    failures: int = 0


@dataclass(frozen=True)
class DecideAfterFault:
    pass


@dataclass(frozen=True)
class Release:
    """Free CPU, memory and GPU slots of the attempt."""


@dataclass(frozen=True)
class Finish:
    """The run is over: drop its secrets, close its store, apply its keep rules."""


Instruction = Launch | StopHost | Enqueue | DecideAfterFault | Release | Finish


@dataclass(frozen=True)
class Decision:
    """`state` is None when only `changes` and `instructions` follow."""

    state: RunState | None = None
    reason: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    instructions: tuple[Instruction, ...] = ()


NOTHING = Decision()


def decide(run: RunStatus, event: Event) -> Decision:
    """What this event does to this run. Events that come too late do nothing."""
    decision = _decide(run, event)
    if decision.state is not None and decision.state not in LEGAL_TRANSITIONS[run.state]:
        raise RunStateError(
            f"{type(event).__name__} would take the run from {run.state} to {decision.state}",
            hint="this is a defect of MOSAIC; please report it with the run's transitions",
            attempt=run.attempt,
        )
    return decision


def _decide(run: RunStatus, event: Event) -> Decision:
    match event:
        case StopRequested():
            return _stop(run, event)
        case Placed() if run.state is RunState.INIT:
            attempt = run.attempt + 1
            return Decision(
                RunState.HSHK,
                f"attempt {attempt} launched",
                {"attempt": attempt},
                (Launch(attempt),),
            )
        case NeverStarted() if run.state is RunState.HSHK and run.stop_requested:
            return _canceled("stopped before it started")
        case NeverStarted() if run.state is RunState.HSHK:
            return Decision(
                RunState.INIT,
                "the attempt never started; queued again",
                {},
                (Release(), Enqueue(run.failures)),
            )
        case Registered() if run.state is RunState.HSHK:
            return Decision(RunState.RDY, event.reason)
        case Sampled() if run.state is RunState.RDY:
            return Decision(RunState.EXEC, "first sample received")
        case Paused() if run.state in (RunState.RDY, RunState.EXEC):
            return Decision(RunState.PAUSE, "paused")
        case Unpaused() if run.state is RunState.PAUSE:
            return Decision(RunState.EXEC, "resumed")
        case Exited() if run.state in LIVE_STATES:
            return _exit(run, event)
        case Failed() if run.state in LIVE_STATES or run.state is RunState.INIT:
            return _fault(run, event.failure)
        case FaultHandled() if run.state is RunState.FAULT:
            return _after_fault(run)
    return NOTHING


def _stop(run: RunStatus, event: StopRequested) -> Decision:
    if run.state in (RunState.INIT, RunState.FAULT):
        changes = {"stop_requested": True, "stop_reason": event.reason}
        return _canceled(stop_sentence(event.reason), changes)
    if run.state in LIVE_STATES:
        changes = {"stop_requested": True, "stop_reason": event.reason or run.stop_reason}
        sentence = stop_sentence(event.reason)
        return Decision(None, sentence, changes, (StopHost("user_cancel"),))
    return NOTHING


def stop_sentence(reason: str) -> str:
    return f"stopped by the user: {reason}" if reason else "stopped by the user"


def _canceled(reason: str, changes: dict[str, Any] | None = None) -> Decision:
    failure = FailureReason(FailureKind.USER_CANCEL, reason)
    return Decision(
        RunState.TERM,
        reason,
        {**(changes or {}), "outcome": Outcome.CANCELED, "failure": failure},
        (Release(), Finish()),
    )


def _exit(run: RunStatus, event: Exited) -> Decision:
    record = event.record
    failure = failure_of(record, event.worker_failure)
    changes: dict[str, Any] = {"exit_code": record.exit_code, "signal": record.signal}
    if failure is None:
        changes["outcome"] = Outcome.SUCCEEDED
        changes["failure"] = None
        changes["stop_reason"] = early_stop_reason(record) or event.worker_stop_reason
        reason = changes["stop_reason"] or "the worker ended normally"
    elif failure.kind is FailureKind.USER_CANCEL:
        if run.stop_reason:
            message = failure.message.replace(stop_sentence(""), stop_sentence(run.stop_reason), 1)
            failure = replace(failure, message=message)
        changes["outcome"] = Outcome.CANCELED
        changes["failure"] = failure
        reason = failure.message
    else:
        return _fault(run, failure, changes)
    return Decision(RunState.TERM, reason, changes, (Release(), Finish()))


def _fault(
    run: RunStatus, failure: FailureReason, changes: dict[str, Any] | None = None
) -> Decision:
    if run.stop_requested and failure.kind in _GONE:
        # The user wanted it gone, and it is.
        return _canceled(f"stopped on request ({failure.kind})", changes)
    return Decision(
        RunState.FAULT,
        failure.message or failure.label,
        {**(changes or {}), "failure": failure},
        (Release(), DecideAfterFault()),
    )


def _after_fault(run: RunStatus) -> Decision:
    if run.failure in OUT_OF_MEMORY:
        reason = "not tried again: it would run out of memory again"
        return Decision(RunState.TERM, reason, {"outcome": Outcome.FAILED}, (Finish(),))
    if run.failures < run.max_attempts and not run.stop_requested:
        return Decision(
            RunState.INIT,
            f"retry {run.failures} of {run.max_attempts - 1}",
            {},
            (Enqueue(run.failures),),
        )
    return Decision(RunState.TERM, "no attempt left", {"outcome": Outcome.FAILED}, (Finish(),))
