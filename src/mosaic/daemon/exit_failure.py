"""What an exit record means: success, a typed failure, or a stop on request. Pure."""

from __future__ import annotations

import signal
from typing import Any

from mosaic.contracts.run_files import ExitRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, exit_sentence
from mosaic.daemon.out_of_memory import LIMIT_HINT, memory_failure

# Why the run host ended a run: the failure's kind, a sentence, and what to do about it.
_ENDED_BY_HOST = {
    "start_failed": (
        FailureKind.LAUNCH_ERROR,
        "The worker could not be started: {error}",
        "check the interpreter and the script; `mosaic doctor` tells more",
    ),
    "memory_limit": (
        FailureKind.MEMORY_LIMIT,
        "The run needed more than its memory limit{limit}; it was seen using {max_rss_mb:.0f} MB.",
        LIMIT_HINT,
    ),
    "process_limit": (
        FailureKind.PROCESS_LIMIT,
        "The run started too many processes.",
        "look for a loop that starts processes",
    ),
    "host_terminated": (
        FailureKind.INTERRUPTED,
        "The run host was told to end, as at a shutdown of the machine.",
        "submit the run again, or give it retries",
    ),
    "host_failed": (
        FailureKind.LOST,
        "The run host failed and ended the run: {error}",
        "this is a defect of MOSAIC; please report it with the attempt's host.log",
    ),
    "time_limit": (
        FailureKind.TIME_LIMIT,
        "The run ignored the request to stop at its time limit and was killed.",
        "let the worker poll run.should_stop()",
    ),
}
# Limits of the schedule: a worker that stops there by itself has done what was asked.
_PLANNED_ENDS = {"time_limit": "max_duration", "max_steps": "max_steps"}

MAX_MESSAGE = 1000

# There is no exit record at all.
LOST = FailureReason(
    FailureKind.LOST,
    "The run host was killed, so the exit status is unknown.",
    "something killed it with SIGKILL; the system may be short of memory",
)
INTERRUPTED = FailureReason(
    FailureKind.INTERRUPTED,
    "The machine was restarted while the run was going on.",
    "submit it again, or give it retries",
)


def unreadable(problem: str) -> FailureReason:
    return FailureReason(
        FailureKind.UNREADABLE,
        f"Its attempt files cannot be read: {problem}"[:MAX_MESSAGE],
        "its processes were ended; the files are kept, and the daemon's log has the details",
    )


def failure_of(
    record: ExitRecord, worker_failure: dict[str, Any] | None = None
) -> FailureReason | None:
    """The typed failure, or None when the run did what it should.

    `worker_failure` is the payload of the worker's own run_failed event, if it sent one.
    """
    code, number = record.exit_code, record.signal
    if record.stop_reason == "user_cancel":
        suffix = " (killed after the grace period)" if record.was_killed else ""
        message = f"stopped by the user{suffix}"
        return FailureReason(FailureKind.USER_CANCEL, message, "", code, number)
    if _ended_as_planned(record):
        return None
    if record.stop_reason in _ENDED_BY_HOST:
        kind, sentence, hint = _ENDED_BY_HOST[record.stop_reason]
        limit = f" of {record.memory_limit_mb} MB" if record.memory_limit_mb else ""
        message = sentence.format(error=record.error, max_rss_mb=record.max_rss_mb, limit=limit)
        return FailureReason(kind, message, hint, code, number)
    if code != 0 and (failure := memory_failure(record, worker_failure)):
        return failure
    if worker_failure is not None and code != 0:
        return _reported_failure(record, worker_failure)
    if number is not None:
        return FailureReason(FailureKind.SIGNAL, _signal_sentence(record), "", code, number)
    if code != 0:
        hint = "the last lines of stderr usually say why: `mosaic logs RUN --stderr`"
        return FailureReason(FailureKind.EXIT_CODE, exit_sentence(code, number), hint, code)
    return None


def early_stop_reason(record: ExitRecord) -> str:
    """Which limit of its schedule ended a successful run; empty when none did."""
    return _PLANNED_ENDS.get(record.stop_reason, "")


def _ended_as_planned(record: ExitRecord) -> bool:
    return record.stop_reason in _PLANNED_ENDS and record.exit_code == 0 and not record.was_killed


def _signal_sentence(record: ExitRecord) -> str:
    if record.signal == signal.SIGKILL and record.machine_oom_kills == 0:
        return (
            "The worker was killed by SIGKILL. The kernel counts no kill for lack of memory, so "
            f"something sent it. It had used up to {record.max_rss_mb:,.0f} MB."
        )
    return exit_sentence(record.exit_code, record.signal)


def _reported_failure(record: ExitRecord, payload: dict[str, Any]) -> FailureReason:
    return FailureReason(
        FailureKind.WORKER_ERROR,
        str(payload.get("error") or exit_sentence(record.exit_code, record.signal)),
        str(payload.get("hint") or ""),
        record.exit_code,
        record.signal,
        str(payload["error_type"]) if payload.get("error_type") else None,
    )
