"""Which processes host and execute an attempt: its files say where to look, the kernel decides.

A run host is recognised by its program and by the attempt's lock, which it keeps open for as long
as it lives. So a file that names a stranger, or nobody, neither hides a host nor points at one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mosaic.contracts.run_files import AttemptFiles
from mosaic.errors import CorruptStoreError
from mosaic.files import is_locked
from mosaic.processes import ProcessIdentity, boot_id, identity_of, is_alive
from mosaic.runhost.attempt_files import read_claim, read_live
from mosaic.runhost.process_tree import living_descendants, read_process

_HOST_PROGRAM = b"mosaic/runhost/__main__.py"


def find_host(files: AttemptFiles) -> ProcessIdentity | None:
    """The living run host of the attempt."""
    host = claimed_host(files)
    if host is None and _is_search_due(files):
        pid = next((pid for pid in _all_pids() if _hosts(pid, files)), None)
        return None if pid is None else identity_of(pid)
    return host


def claimed_host(files: AttemptFiles) -> ProcessIdentity | None:
    """The host that the claim names, if it lives and is one."""
    try:
        claim = read_claim(files)
    except CorruptStoreError:
        return None
    if claim is None or claim.host is None or not is_alive(claim.host):
        return None
    return claim.host if _hosts(claim.host.pid, files) else None


def find_worker(files: AttemptFiles, host: ProcessIdentity) -> ProcessIdentity | None:
    """The worker below that host: as live.json has it, or the child the host has had longest."""
    try:
        live = read_live(files)
    except CorruptStoreError:
        live = None
    if live is not None and is_alive(live.worker):
        process = read_process(live.worker.pid)
        if process is not None and process.ppid == host.pid:
            return live.worker
    children = [each for each in living_descendants(host.pid) if each.ppid == host.pid]
    oldest = min(children, key=lambda each: (each.start_ticks, each.pid), default=None)
    return None if oldest is None else ProcessIdentity(oldest.pid, oldest.start_ticks, boot_id())


def _is_search_due(files: AttemptFiles) -> bool:
    """A sound claim whose host is gone is the rule after a crash, and tells all there is."""
    try:
        return read_claim(files) is None or is_locked(files.lock)
    except CorruptStoreError:
        return True


def _hosts(pid: int, files: AttemptFiles) -> bool:
    # The folder itself may have become a link since; `realpath` minds no loops.
    attempts = os.path.realpath(files.directory.parent)
    lock = f"{attempts}/{files.directory.name}/{files.lock.name}"
    process = Path(f"/proc/{pid}")
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        if not any(word.endswith(_HOST_PROGRAM) for word in words):
            return False
        # The kernel adds this to the name of a file that was removed, as a worker might do.
        return any(link in (lock, f"{lock} (deleted)") for link in _open_files(process))
    except OSError:
        return False  # gone, or another user's


def _open_files(process: Path) -> Iterator[str]:
    for descriptor in (process / "fd").iterdir():
        try:
            yield str(descriptor.readlink())
        except OSError:
            continue


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
