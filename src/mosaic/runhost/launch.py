"""From a specification on standard input to a running worker, with as few imports as possible.

The specification stays a plain dictionary here: `AttemptSpec` itself is built once the worker is
running, and a test holds the table below to its fields.
"""

# pathlib would delay the worker's start.
# ruff: noqa: PTH102, PTH108
from __future__ import annotations

import fcntl
import json
import os
import signal
import sys

from mosaic.runhost.control_groups import group_name, planned_groups
from mosaic.runhost.spawning import HANDLED_SIGNALS, start_worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# -- The specification

MAX_SPEC_BYTES = 16_000_000
_NONE = type(None)
_REQUIRED: dict[str, tuple[type, ...]] = {
    "run_id": (str,),
    "attempt": (int,),
    "run_directory": (str,),
    "worker_name": (str,),
    "argv": (list,),
    "cwd": (str,),
    "environment": (dict,),
}
_OPTIONAL: dict[str, tuple[type, ...]] = {
    "secrets": (dict,),
    "control_socket": (str,),
    "control": (str,),
    "stdout_events": (bool,),
    "memory_mb": (int, _NONE),
    "max_processes": (int,),
    "max_duration_s": (int, float, _NONE),
    "max_steps": (int, _NONE),
    "grace_s": (int, float),
    "log_max_bytes": (int,),
    "log_backups": (int,),
    "shm_prefixes": (list,),
    "exit_proof": (str,),
}
FIELDS = {**_REQUIRED, **_OPTIONAL}
_AT_LEAST = {
    "attempt": 0,
    "memory_mb": 1,
    "max_processes": 1,
    "max_duration_s": 0,
    "max_steps": 1,
    "grace_s": 0,
    "log_max_bytes": 1,
    "log_backups": 0,
}


class SpecError(ValueError):
    """The specification is missing, torn or wrong; nothing was started."""


def read_all(fd: int) -> bytes:
    """Everything up to end of file; a caller that died halfway leaves a torn document."""
    pieces: list[bytes] = []
    size = 0
    try:
        while piece := os.read(fd, 65_536):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_SPEC_BYTES:
                raise SpecError("the specification is too large")
    except OSError as error:
        raise SpecError(f"standard input cannot be read: {error.strerror}") from None
    return b"".join(pieces)


def parse_spec(text: bytes) -> dict[str, Any]:
    """The known fields of the document, each of the right type; unknown ones are left out."""
    if not text.strip():
        raise SpecError("standard input was closed without a specification")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"the specification is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise SpecError("the specification is not a JSON object")
    for name in _REQUIRED:
        if name not in document:
            raise SpecError(f"'{name}' is missing")
    spec = {name: document[name] for name in FIELDS if name in document}
    for name, value in spec.items():
        _check_field(name, value)
    _check_meaning(spec)
    return spec


def _check_field(name: str, value: Any) -> None:
    if not _has_type(value, FIELDS[name]):
        raise SpecError(f"'{name}' has the wrong type: {type(value).__name__}")
    if name in _AT_LEAST and value is not None and not _AT_LEAST[name] <= value < float("inf"):
        raise SpecError(f"'{name}' is out of range: {value}")
    items = (*value.keys(), *value.values()) if isinstance(value, dict) else value
    if isinstance(value, dict | list) and not all(isinstance(item, str) for item in items):
        raise SpecError(f"'{name}' must hold strings only")


def _has_type(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _check_meaning(spec: dict[str, Any]) -> None:
    if not spec["argv"]:
        raise SpecError("'argv' is empty")
    # These two become file and group names.
    if not spec["run_id"].isalnum():
        raise SpecError("'run_id' must be letters and digits")
    if not spec["worker_name"] or "/" in spec["worker_name"] or spec["worker_name"][0] == ".":
        raise SpecError("'worker_name' cannot name a file")
    if spec.get("control", "stdin") not in ("stdin", "signals"):
        raise SpecError(f"'control' must be 'stdin' or 'signals', not {spec['control']!r}")


# -- The lock and the claim: with them an attempt is executed at most once


def attempt_directory(run_directory: str, attempt: int) -> str:
    """The attempt's folder, made if need be; the run's own folder must be there already."""
    attempts = f"{run_directory}/attempts"
    directory = f"{attempts}/{attempt}"
    for folder in (attempts, directory):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
    return directory


def take_lock(directory: str) -> int | None:
    """The descriptor that holds the attempt's lock until this process ends, or None when held.

    Never closed on purpose, and close-on-exec: a worker that inherited it would keep the attempt
    looking alive after its host is gone.
    """
    fd = os.open(f"{directory}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def make_claim(directory: str, groups: list[str]) -> bool:
    """True for the first and only claimant. Call with the lock held.

    The file names this host and the control groups it is about to make, so that recovery can
    clean up after a host that was killed at any later moment. No fsync: after a power cut the
    boot id differs and nothing that was claimed can still be running.
    """
    path = f"{directory}/claim"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    try:
        os.write(fd, json.dumps({**own_identity(), "groups": groups}).encode() + b"\n")
    except OSError:
        # Nothing was started, and the lock keeps everybody else out: the claim can be withdrawn.
        os.unlink(path)
        raise
    finally:
        os.close(fd)
    return True


def own_identity() -> dict[str, Any]:
    """What `mosaic.processes.identity_of` says about this process, without its imports."""
    with open("/proc/self/stat", "rb") as file:
        stat = file.read()
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot_id = os.environ.get("MOSAIC_FAKE_BOOT_ID") or file.read().strip()
    start_ticks = int(stat[stat.rindex(b")") + 2 :].split()[19])
    return {"pid": os.getpid(), "start_ticks": start_ticks, "boot_id": boot_id}


# -- The launch

EXIT_NOTHING_STARTED = 2
EXIT_NOT_OURS = 3


def main() -> int:
    _keep_standard_descriptors()
    try:
        spec = parse_spec(read_all(0))
    except SpecError as error:
        print(f"run host: nothing was started: {error}", file=sys.stderr)
        return EXIT_NOTHING_STARTED
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED_SIGNALS)
    groups = planned_groups(group_name(spec["run_id"], spec["attempt"]))
    try:
        directory = attempt_directory(spec["run_directory"], spec["attempt"])
        lock = take_lock(directory)
        if lock is None or not make_claim(directory, groups):
            return EXIT_NOT_OURS
    except OSError as error:
        print(f"run host: nothing was started: {error}", file=sys.stderr)
        return EXIT_NOTHING_STARTED
    launch = start_worker(spec, groups, lock)
    # Only now: these imports take longer than everything above.
    from mosaic.runhost.host import supervise

    return supervise(launch)


def _keep_standard_descriptors() -> None:
    """If one of 0, 1, 2 were closed, the next file opened would take its number."""
    for fd in (1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(os.open("/dev/null", os.O_RDWR), fd)
