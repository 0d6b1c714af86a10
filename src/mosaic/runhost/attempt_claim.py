"""The lock and the claim: together they make sure that an attempt is executed at most once."""

# pathlib would delay the worker's start.
# ruff: noqa: PTH102, PTH108
from __future__ import annotations

import fcntl
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
        # Nothing was started, and the lock keeps everybody else out: the claim can be taken back.
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
