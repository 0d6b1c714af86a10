"""What an exit record means: success, a typed failure, or a stop on request. Pure.

A run that ran out of memory, on its GPU or on the machine, is told what to change. Frameworks
report it as an exception with a well-known name or sentence; the kernel reports it with SIGKILL and
a counter, which the run host has looked at.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from typing import Any

from mosaic.contracts.run_files import ExitRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, exit_sentence

_SMALLER = (
    "use fewer environments (num_envs), shorter rollouts (num_steps), smaller batches (batch_size) "
    "or a smaller network"
)
_GPU_HINT = f"{_SMALLER}; or choose another GPU, or train on the CPU (cuda=False)"
_HOST_HINT = f"make the replay buffer smaller (buffer_size), or {_SMALLER}"
LIMIT_HINT = f"raise resources.memory_mb, or {_HOST_HINT}"

# "torch.OutOfMemoryError: CUDA out of memory. …": the last line of a traceback.
_ERROR_LINE = re.compile(r"(?:[\w.]+\.)?(\w*(?:Error|Exception|Exhausted))(?:: (.*))?$")
_BAD_ALLOC = re.compile(r"\bstd::bad_alloc\b")
_DIRECT_CAUSE = "direct cause of the following exception"
# What the program itself runs, for instance a script; its own words are in its output.
_WRAPPERS = {"ProgramError"}

_GPU_TYPES = {"OutOfMemoryError"}
_HOST_TYPES = {"MemoryError", "_ArrayMemoryError"}
_GPU_TEXT = re.compile(
    r"\b(?:cuda|hip|xpu|npu|mps)\b.{0,60}\bout of memory"
    r"|CUDA_ERROR_OUT_OF_MEMORY|(?:CUBLAS|CUDNN)_STATUS_ALLOC_FAILED",
    re.IGNORECASE,
)
_HOST_TEXT = re.compile(
    r"DefaultCPUAllocator|not enough memory: you tried to allocate|\[Errno 12\]"
    r"|Unable to allocate .{1,40} for an array|\bstd::bad_alloc\b"
)
# XLA and TensorFlow have one error for both kinds of memory.
_EXHAUSTED = re.compile(r"RESOURCE_EXHAUSTED|ResourceExhausted|\bOOM when allocating\b")
_ABOUT_MEMORY = re.compile(r"memory|\bOOM\b|allocat", re.IGNORECASE)
_ON_THE_HOST = re.compile(r"device:CPU|\bCPU_0\b|\bhost memory\b", re.IGNORECASE)

_SIZE = r"(\d[\d,]*(?:\.\d*)?) ?([KMGTP]i?B|bytes)"
_ASKED = re.compile(rf"allocat(?:e|ing)\D{{0,30}}?{_SIZE}")
_CAPACITY = re.compile(rf"total capacity of {_SIZE} of which {_SIZE} is free")


def memory_failure(
    record: ExitRecord, worker_failure: dict[str, Any] | None
) -> FailureReason | None:
    """The typed failure of an attempt that ended for lack of memory, and of no other."""
    # A program killed from outside has not reported it; C++ aborts by itself.
    if record.signal in (None, signal.SIGABRT):
        for name, text in _errors(record, worker_failure):
            if kind := _kind_of(name, text):
                return _failure(record, kind, _sentence(kind, text), name)
    if sentence := _kill_sentence(record, worker_failure):
        return _failure(record, FailureKind.HOST_MEMORY, sentence)
    return None


def _failure(
    record: ExitRecord, kind: FailureKind, sentence: str, error_type: str | None = None
) -> FailureReason:
    hint = _GPU_HINT if kind is FailureKind.GPU_MEMORY else _HOST_HINT
    message = f"{sentence} {_usage(record)}".strip()
    return FailureReason(kind, message, hint, record.exit_code, record.signal, error_type)


def _kind_of(name: str, text: str) -> FailureKind | None:
    whole = f"{name}: {text}"
    if _EXHAUSTED.search(whole) and _ABOUT_MEMORY.search(text):
        on_host = _ON_THE_HOST.search(text)
        return FailureKind.HOST_MEMORY if on_host else FailureKind.GPU_MEMORY
    if _GPU_TEXT.search(text) or name in _GPU_TYPES:
        return FailureKind.GPU_MEMORY
    if name in _HOST_TYPES or _HOST_TEXT.search(whole):
        return FailureKind.HOST_MEMORY
    return None


def _errors(record: ExitRecord, worker_failure: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    """(name, text) of the error that ended it, then of what it says was its direct cause."""
    if worker_failure is None:
        yield from _told_errors(record.stderr_tail)
        return
    name = str(worker_failure.get("error_type") or "")
    if name not in _WRAPPERS:
        yield name, str(worker_failure.get("error") or "")
    yield from _told_errors(str(worker_failure.get("traceback") or "").splitlines())


def _told_errors(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """From the last lines of a program: its last exception, and those that caused it directly."""
    counts = True
    for line in reversed(lines):
        if _DIRECT_CAUSE in line:
            counts = True
        elif counts and _BAD_ALLOC.search(line):
            yield "std::bad_alloc", line
            counts = False
        elif counts and (match := _ERROR_LINE.match(line)):
            yield match[1], match[2] or ""
            counts = False


def _kill_sentence(record: ExitRecord, worker_failure: dict[str, Any] | None) -> str:
    """Empty when nothing was killed, or something else must have done it."""
    by_signal = record.signal == signal.SIGKILL
    by_code = record.exit_code == 128 + signal.SIGKILL
    if (by_signal or by_code) and record.oom_kills:
        return "The machine ran out of memory, and the kernel killed the worker."
    if (by_signal or by_code) and record.machine_oom_kills:
        return "The machine ran out of memory, and most likely the kernel killed the worker for it."
    if by_code and worker_failure is None:
        # What was killed may have been in a container or on another machine, where our kernel
        # counts nothing. For a kill of the worker itself its count can be relied upon.
        return (
            "The worker ended with exit code 137: what it ran was killed with SIGKILL, "
            "probably because the memory ran out."
        )
    return ""


def _sentence(kind: FailureKind, text: str) -> str:
    who = "GPU" if kind is FailureKind.GPU_MEMORY else "worker"
    free = ""
    if match := _CAPACITY.search(text):
        free = f", with {match[3]} {match[4]} of {match[1]} {match[2]} free"
    return f"The {who} ran out of memory{_asked(text)}{free}."


def _asked(text: str) -> str:
    match = _ASKED.search(text)
    if match is None:
        return ""
    number, unit = match.groups()
    if unit == "bytes":
        number, unit = f"{float(number.replace(',', '')) / 1e6:,.1f}", "MB"
    return f" when it asked for {number.rstrip('.')} {unit} more"


def _usage(record: ExitRecord) -> str:
    if not record.max_rss_mb:
        return ""
    of_all = f" of the machine's {record.machine_memory_mb:,}" if record.machine_memory_mb else ""
    return f"It had used up to {record.max_rss_mb:,.0f}{of_all} MB of main memory."


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


def unreadable_failure(problem: str) -> FailureReason:
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
