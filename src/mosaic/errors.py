"""The whole error tree. Each class carries a code, a sentence, a hint and details.

MosaicError
├── RequestError                the caller can fix it
│   ├── ConfigError             a field is missing, unknown or out of range
│   ├── UnknownWorkerError      no worker of that name
│   ├── UnknownRunError         no run with that id
│   ├── RunStateError           not possible in the run's present state
│   ├── ConsentError            an operation needs a confirmation it did not get
│   └── UnauthenticatedError    missing or wrong token
├── PreflightError              the machine can be fixed
│   ├── DependencyError         the worker cannot be imported in its environment
│   ├── BundleError             a bundle is not installed, or cannot be
│   ├── InterpreterError        the Python interpreter is missing or too old
│   ├── GpuError                not enough GPUs
│   ├── DiskSpaceError          not enough room below the home directory
│   └── HomeError               the home directory is unusable (read-only, wrong owner)
├── WorkerError                 the worker itself went wrong
│   ├── WorkerStartError        the run host could not start it
│   ├── ProgramError            a program that it ran for somebody failed
│   ├── CheckpointError         a checkpoint cannot be written or read, or is damaged
│   ├── SecretLostError         a secret it needs is kept nowhere any more
│   └── WorkerProtocolError     it broke the event or control protocol
├── StoreError                  registry, journal or telemetry store
│   ├── CorruptStoreError       checksums do not match
│   └── JournalOffsetError      a chunk does not continue the journal
├── TrainerUnreachableError     no daemon answers
└── DaemonConflictError         another daemon holds this home
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

_REGISTRY: dict[str, type[MosaicError]] = {}


class MosaicError(Exception):
    """Base of every error MOSAIC raises on purpose."""

    code: ClassVar[str] = "internal"
    # What a command-line program returns when this error ends it.
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.code in _REGISTRY:
            raise TypeError(f"two error classes share the code {cls.code!r}")
        _REGISTRY[cls.code] = cls

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "details": self.details,
        }

    def __str__(self) -> str:
        return self.message


_REGISTRY[MosaicError.code] = MosaicError


class RequestError(MosaicError):
    code = "invalid_request"
    exit_status = 2


class ConfigError(RequestError):
    """Details hold `field`: the dotted path of the offending field."""

    code = "invalid_config"


class UnknownWorkerError(RequestError):
    code = "unknown_worker"
    exit_status = 4


class UnknownRunError(RequestError):
    code = "unknown_run"
    exit_status = 4


class RunStateError(RequestError):
    code = "run_state"
    exit_status = 5


class ConsentError(RequestError):
    code = "consent_needed"
    exit_status = 5


class UnauthenticatedError(RequestError):
    code = "unauthenticated"
    exit_status = 7


class PreflightError(MosaicError):
    code = "preflight"
    exit_status = 6


class DependencyError(PreflightError):
    code = "dependency_missing"


class BundleError(PreflightError):
    """Details hold `bundle`: the name of one, or of several joined."""

    code = "bundle"


class InterpreterError(PreflightError):
    code = "interpreter"


class GpuError(PreflightError):
    code = "gpu_unavailable"


class DiskSpaceError(PreflightError):
    code = "disk_space"


class HomeError(PreflightError):
    code = "home_unusable"


class WorkerError(MosaicError):
    code = "worker"


class WorkerStartError(WorkerError):
    code = "worker_start"


class ProgramError(WorkerError):
    """Details hold `exit_code`, which becomes the worker's own, and `output`: its last lines."""

    code = "program_failed"

    @property
    def exit_code(self) -> int:
        return int(self.details.get("exit_code", 1))

    @property
    def output(self) -> str:
        return str(self.details.get("output", ""))


class CheckpointError(WorkerError):
    """Of any worker: several may be loaded in one process, to look at what they saved."""

    code = "checkpoint"


class SecretLostError(WorkerError):
    code = "secret_lost"


class WorkerProtocolError(WorkerError):
    code = "worker_protocol"


class StoreError(MosaicError):
    code = "store"


class CorruptStoreError(StoreError):
    code = "store_corrupt"


class JournalOffsetError(StoreError):
    """Details hold `expected_offset`: where the next chunk must start."""

    code = "journal_offset"


class TrainerUnreachableError(MosaicError):
    code = "trainer_unreachable"
    exit_status = 8


class DaemonConflictError(MosaicError):
    code = "daemon_conflict"
    exit_status = 3


def error_codes() -> dict[str, type[MosaicError]]:
    """Every code with its class, for tests and for the reference page."""
    return dict(_REGISTRY)


def to_wire(error: MosaicError) -> str:
    return json.dumps(error.to_dict(), default=str)


def from_wire(text: str) -> MosaicError:
    """Rebuild the error that `to_wire` wrote; an unknown code becomes the base class."""
    data = json.loads(text)
    cls = _REGISTRY.get(data["code"], MosaicError)
    return cls(data["message"], hint=data.get("hint", ""), **data.get("details", {}))
