"""Process identity that survives PID reuse and reboots: pid + start ticks + boot id."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, NamedTuple

BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


class ProcessIdentity(NamedTuple):
    pid: int
    start_ticks: int
    boot_id: str

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ProcessIdentity:
        return cls(int(data["pid"]), int(data["start_ticks"]), str(data["boot_id"]))


def boot_id() -> str:
    # MOSAIC_FAKE_BOOT_ID lets the chaos suite rehearse a reboot.
    return os.environ.get("MOSAIC_FAKE_BOOT_ID") or BOOT_ID_FILE.read_text().strip()


def stat_fields(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat after the command name: [0] state, [1] ppid, [19] start ticks."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name is in parentheses and may itself hold spaces and parentheses.
    return text[text.rindex(")") + 2 :].split()


def identity_of(pid: int) -> ProcessIdentity | None:
    fields = stat_fields(pid)
    return None if fields is None else ProcessIdentity(pid, int(fields[19]), boot_id())


def process_state(identity: ProcessIdentity) -> str | None:
    """The kernel's state letter, or None when that very process is gone; a zombie is gone."""
    if identity.boot_id != boot_id():
        return None
    fields = stat_fields(identity.pid)
    if fields is None or int(fields[19]) != identity.start_ticks or fields[0] in "ZX":
        return None
    return fields[0]


def is_alive(identity: ProcessIdentity) -> bool:
    return process_state(identity) is not None


def open_pidfd(identity: ProcessIdentity) -> int | None:
    """A descriptor of exactly that process, or None when it is gone; the caller closes it."""
    try:
        fd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    # Checked after opening: the descriptor pins whoever holds the pid now.
    if not is_alive(identity):
        os.close(fd)
        return None
    return fd


def send_signal(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Signal that very process and no stranger who inherited its pid."""
    fd = open_pidfd(identity)
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True
