"""What the standard library lacks on Linux: `prctl`, and the state of the memory."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


def become_subreaper() -> bool:
    """Adopt orphaned descendants, however they were forked, so that none can slip away."""
    return bool(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def die_with_parent(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel signal this process when the thread that forked it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(by), 0, 0, 0)
    # The parent may have died before the call above; then no signal will ever come.
    if os.getppid() != parent:
        os._exit(127)


def machine_oom_kills() -> int | None:
    """How many processes the kernel has killed for lack of memory since boot, in and outside of
    control groups; None where it does not count them."""
    return _number("/proc/vmstat", "oom_kill ")


def machine_memory_mb() -> int:
    return (_number("/proc/meminfo", "MemTotal:") or 0) // 1024


def _number(path: str, name: str) -> int | None:
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return None
