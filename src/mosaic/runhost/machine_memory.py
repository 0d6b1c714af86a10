"""What the kernel says about the machine's memory: how much there is, and whom it killed for it."""

from __future__ import annotations


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
