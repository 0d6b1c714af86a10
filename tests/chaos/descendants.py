"""Finds every process a test has brought into the world, however well it hides."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from mosaic.processes import stat_fields
from mosaic.runhost.linux import become_subreaper
from tests.waiting import wait_until


@contextmanager
def no_process_left() -> Iterator[None]:
    """Every process that is started meanwhile, by whomever, must be gone at the end.

    As a subreaper we inherit all orphans, so nothing can hide by forking twice or in a session of
    its own. They are reaped only at the end: a dead run host stays a zombie, as in a container
    whose first process reaps nobody.
    """
    become_subreaper()
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    try:
        yield
        wait_until(lambda: not _living(before), 10, "every process to be gone")
    except AssertionError as error:
        error.add_note(f"living descendants: {_living(before)}")
        raise
    finally:
        _end_all(before)


def is_running(pid: int) -> bool:
    """False for a zombie: it is dead and only waits to be counted."""
    fields = stat_fields(pid)
    return fields is not None and fields[0] not in "ZX"


def _living(known: set[int]) -> list[str]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.pid not in known and is_running(process.pid):
                found.append(f"{process.pid} {process.cmdline()}")
    return found


def _end_all(known: set[int]) -> None:
    """After a failure there may be some left; they must not disturb the next test."""
    for process in psutil.Process().children(recursive=True):
        if process.pid not in known:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
    for process in psutil.Process().children():
        if process.pid not in known:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, 0)
