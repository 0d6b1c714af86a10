"""Out of memory is told apart from everything else that ends a run, and says what to change."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.run_files import ExitRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, RunState
from mosaic.daemon.runs.exit_failure import failure_of
from mosaic.daemon.runs.run_lifecycle import Enqueue, FaultHandled, Finish, RunStatus, decide

CUDA = (
    "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.15 GiB of "
    "which 10.06 MiB is free. Process 1 has 79.14 GiB memory in use."
)
GPU, HOST = FailureKind.GPU_MEMORY, FailureKind.HOST_MEMORY


def exit_record(code: int | None = 1, number: int | None = None, **values: Any) -> ExitRecord:
    record = ExitRecord("R", 1, code, number, 1.0, 2.0, max_rss_mb=350.0, machine_memory_mb=8000)
    return record._replace(**values)


def failure(record: ExitRecord, told: dict[str, Any] | None = None) -> FailureReason:
    reason = failure_of(record, told)
    assert reason is not None
    return reason


def told(error_type: str, error: str, traceback: str = "") -> dict[str, Any]:
    return {"error_type": error_type, "error": error, "traceback": traceback, "hint": ""}


REPORTED = {
    "torch": (told("OutOfMemoryError", CUDA), GPU),
    "torch before 2.5": (told("RuntimeError", CUDA), GPU),
    "torch without a word": (told("OutOfMemoryError", ""), GPU),
    "the driver": (told("RuntimeError", "CUDA error: out of memory"), GPU),
    "cuBLAS": (told("RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling x"), GPU),
    "AMD": (told("OutOfMemoryError", "HIP out of memory. Tried to allocate 2.00 MiB."), GPU),
    "Apple": (told("RuntimeError", "MPS backend out of memory (MPS allocated: 9 GB)"), GPU),
    "jax": (
        told("XlaRuntimeError", "RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes."),
        GPU,
    ),
    "tensorflow": (
        told("ResourceExhaustedError", "OOM when allocating tensor on device:GPU:0"),
        GPU,
    ),
    "tensorflow on the CPU": (
        told("ResourceExhaustedError", "OOM when allocating tensor on device:CPU:0"),
        HOST,
    ),
    "no number": (told("OutOfMemoryError", "Tried to allocate 1.2.3 bytes, 4..5 bytes"), GPU),
    "python": (told("MemoryError", ""), HOST),
    "numpy": (
        told("_ArrayMemoryError", "Unable to allocate 7.45 TiB for an array with shape (1, 2)"),
        HOST,
    ),
    "torch on the CPU": (
        told("RuntimeError", "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"),
        HOST,
    ),
    "fork": (told("OSError", "[Errno 12] Cannot allocate memory"), HOST),
    "a wrapped one": (
        told(
            "RuntimeError",
            "the update failed",
            f"Traceback…\ntorch.OutOfMemoryError: {CUDA}\n\nThe above exception was the direct "
            "cause of the following exception:\n\nTraceback…\nRuntimeError: the update failed\n",
        ),
        GPU,
    ),
    "a script": (
        told("ProgramError", "x ended with exit code 1", f"torch.OutOfMemoryError: {CUDA}\n"),
        GPU,
    ),
}


@pytest.mark.parametrize("name", REPORTED)
def test_what_a_worker_reports_is_recognised(name: str) -> None:
    payload, kind = REPORTED[name]
    reason = failure(exit_record(), payload)
    assert reason.kind is kind
    assert "num_envs" in reason.hint
    assert ("cuda=False" in reason.hint) == (kind is GPU)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [("711. TiB", "711 TiB"), ("7.45 GiB", "7.45 GiB"), ("2,500,000 bytes", "2.5 MB")],
)
def test_how_much_it_asked_for_is_said(asked: str, shown: str) -> None:
    reason = failure(exit_record(), told("MemoryError", f"Unable to allocate {asked} for an array"))
    assert f"when it asked for {shown} more" in reason.message


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (exit_record(stderr_tail=(f"torch.cuda.OutOfMemoryError: {CUDA}", "wandb: done")), GPU),
        (exit_record(stderr_tail=("Traceback", "MemoryError")), HOST),
        (exit_record(None, 6, stderr_tail=("  what():  std::bad_alloc",)), HOST),
        (exit_record(None, 9, oom_kills=1), HOST),
        (exit_record(None, 9, machine_oom_kills=1), HOST),
        (exit_record(137, machine_oom_kills=2), HOST),
        (exit_record(137, machine_oom_kills=None), HOST),
    ],
)
def test_what_stderr_and_the_kernel_say_is_recognised(
    record: ExitRecord, kind: FailureKind
) -> None:
    assert failure(record).kind is kind


@pytest.mark.parametrize(
    ("record", "payload", "label"),
    [
        (exit_record(None, 9, machine_oom_kills=0), None, "signal_9"),
        (exit_record(None, 9, machine_oom_kills=0, stderr_tail=("MemoryError",)), None, "signal_9"),
        (exit_record(None, 11, machine_oom_kills=1), None, "signal_11"),
        (exit_record(1, machine_oom_kills=1), None, "exit_code_1"),
        (exit_record(1, stderr_tail=("MemoryError", "ValueError: no")), None, "exit_code_1"),
        (exit_record(1, stderr_tail=("log: a MemoryError was handled",)), None, "exit_code_1"),
        (exit_record(1), told("ValueError", "the replay memory is empty"), "worker_error"),
        (exit_record(1), told("RuntimeError", "out of luck"), "worker_error"),
        (
            exit_record(1),
            told("XlaRuntimeError", "RESOURCE_EXHAUSTED: too many open files"),
            "worker_error",
        ),
        (
            exit_record(137, machine_oom_kills=0),
            told("ProgramError", "train.py was killed by SIGKILL"),
            "worker_error",
        ),
        (
            exit_record(1),
            told(
                "KeyError",
                "'x'",
                "MemoryError\n\nDuring handling of the above exception, another exception "
                "occurred:\n\nKeyError: 'x'\n",
            ),
            "worker_error",
        ),
        (exit_record(None, 9, stop_reason="user_cancel", oom_kills=1), None, "user_cancel"),
        (exit_record(None, 9, stop_reason="memory_limit", oom_kills=1), None, "memory_limit"),
    ],
)
def test_what_only_resembles_it_keeps_its_own_name(
    record: ExitRecord, payload: dict[str, Any] | None, label: str
) -> None:
    assert failure(record, payload).label == label


def test_a_worker_that_caught_it_and_succeeded_has_succeeded() -> None:
    assert failure_of(exit_record(0, stderr_tail=("MemoryError",))) is None


def test_the_sentence_has_what_was_asked_for_and_what_was_free() -> None:
    assert failure(exit_record(), told("OutOfMemoryError", CUDA)).message == (
        "The GPU ran out of memory when it asked for 20.00 GiB more, with 10.06 MiB of 79.15 GiB "
        "free. It had used up to 350 of the machine's 8,000 MB of main memory."
    )
    jax, _ = REPORTED["jax"]
    assert "asked for 8,589.9 MB more" in failure(exit_record(), jax).message
    assert "probably" in failure(exit_record(137)).message
    limit = exit_record(None, 9, stop_reason="memory_limit", memory_limit_mb=512)
    assert "its memory limit of 512 MB; it was seen using 350 MB" in failure(limit).message
    assert "raise resources.memory_mb" in failure(limit).hint


def test_a_kill_that_the_kernel_does_not_count_was_sent_by_somebody() -> None:
    assert "something sent it" in failure(exit_record(None, 9, machine_oom_kills=0)).message
    assert "ran out of memory" in failure(exit_record(None, 9)).message, "here nobody counts"


@pytest.mark.parametrize("kind", [GPU, HOST, FailureKind.MEMORY_LIMIT])
def test_it_is_not_tried_again(kind: FailureKind) -> None:
    run = RunStatus(RunState.FAULT, 1, failures=1, max_attempts=5, failure=kind)
    decision = decide(run, FaultHandled())
    assert (decision.state, decision.instructions) == (RunState.TERM, (Finish(),))
    assert decision.reason == "not tried again: it would run out of memory again"


def test_other_failures_are_tried_again() -> None:
    run = RunStatus(RunState.FAULT, 1, failures=1, max_attempts=5, failure=FailureKind.SIGNAL)
    assert decide(run, FaultHandled()).instructions == (Enqueue(1),)
