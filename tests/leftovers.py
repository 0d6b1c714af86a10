"""What tests leave behind in this process or on this machine: descriptors, threads, processes and
shared memory.

Other test processes may be at work beside this one, so only what is certainly ours counts:
- processes that are our children, or carry our mark in the environment they inherited;
- shared memory that this process has opened by its name. For what the daemons, run hosts and
  workers of a test make there, whoever starts them looks (`DaemonHarness.assert_nothing_left`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import secrets
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_S

SHARED_MEMORY = "/dev/shm/"
MARK = "PYTEST_STARTED_BY"
LOOK_S = 0.02

# Made once by a library, on first use, and kept until the process ends.
GRPC_POLLER = "_poll_wrapper"
KEPT_DESCRIPTORS = {
    "anon_inode:[eventfd]": "threads of Qt and gRPC are woken by one each",
    "anon_inode:[eventpoll]": "gRPC's; an event loop of asyncio has a pair of sockets, too",
    "/mime.cache": "Qt keeps the types of files mapped",
    "/mpl-data/fonts/": "matplotlib keeps the fonts it has drawn with",
}
KEPT_THREADS = {
    GRPC_POLLER: "waits for all calls of grpc.aio, with a pair of sockets to be woken by",
}
KEPT_PROCESSES = {
    "multiprocessing.resource_tracker": "multiprocessing starts one for the first lock or segment",
    "multiprocessing.forkserver": "the first process that it makes starts it; it ends with us",
}

_opened_in_shared_memory: set[str] = set()


@dataclass(frozen=True)
class Snapshot:
    """All by a name people understand; targets of descriptors as often as they are open."""

    descriptors: Counter[str]
    threads: frozenset[threading.Thread]
    processes: frozenset[tuple[int, str]]
    shared_memory: frozenset[str]

    @classmethod
    def take(cls) -> Snapshot:
        return cls(
            descriptors=Counter(_descriptors().values()),
            threads=frozenset(threading.enumerate()),
            processes=frozenset(_processes()),
            shared_memory=frozenset(filter(os.path.lexists, _opened_in_shared_memory)),
        )


def mark_this_process() -> None:
    """Once, before the first test: what we start can be told from what others start."""
    os.environ[MARK] = f"{os.getpid()}-{secrets.token_hex(4)}"
    sys.addaudithook(_note_shared_memory)


def await_nothing_new(
    before: Snapshot, patience_s: float = PATIENCE_S, *, with_descriptors: bool = True
) -> list[str]:
    """What is there now, and still after some patience, that was not there before."""
    left = new_since(before, with_descriptors)
    if not left:
        return []
    gc.collect()  # what is held by a cycle only is garbage, not a leak
    deadline = time.monotonic() + patience_s
    while (left := new_since(before, with_descriptors)) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return left


def new_since(before: Snapshot, with_descriptors: bool = True) -> list[str]:
    now = Snapshot.take()
    threads = now.threads - before.threads
    has_poller = any(GRPC_POLLER in thread.name for thread in threads)
    return [
        *(_new_descriptors(before, now, has_poller) if with_descriptors else ()),
        *(f"thread {thread.name!r}" for thread in threads if _is_ours(thread)),
        *(f"process {pid}: {command}" for pid, command in now.processes - before.processes),
        *(f"shared memory {path}" for path in now.shared_memory - before.shared_memory),
    ]


def _new_descriptors(before: Snapshot, now: Snapshot, has_poller: bool) -> list[str]:
    found, spared = [], 2 if has_poller else 0
    for target, count in (now.descriptors - before.descriptors).items():
        if any(known in target for known in KEPT_DESCRIPTORS):
            continue
        name = _socket_name(target) if target.startswith("socket:") else None
        if name == "" and spared:
            spared -= 1
            continue
        told = f": {name or 'without a name'}" if name is not None else ""
        found.append(f"descriptor of {target}{told}{f' ({count} times)' if count > 1 else ''}")
    return found


def _descriptors() -> dict[int, str]:
    found = {}
    # How multiprocessing talks to the two processes it keeps.
    owners: Any = (resource_tracker._resource_tracker, forkserver._forkserver)
    kept = (owners[0]._fd, owners[1]._forkserver_alive_fd)
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the one that lists them is closed again
            if int(name) not in kept:
                found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def _socket_name(target: str) -> str:
    """Its own address; empty for one of a pair."""
    for number, other in _descriptors().items():
        with contextlib.suppress(OSError):
            if other == target:
                with socket.socket(fileno=os.dup(number)) as connection:
                    return str(connection.getsockname() or "")
    return ""


def _is_ours(thread: threading.Thread) -> bool:
    """Not those of Qt or gRPC that have called into Python once: nobody can end them."""
    is_foreign = isinstance(thread, threading._DummyThread)
    return not is_foreign and not any(known in thread.name for known in KEPT_THREADS)


def _processes() -> Iterable[tuple[int, str]]:
    """Not those that have ended: of a daemon that a client started, nobody waits for the end."""
    mark = f"{MARK}={os.environ.get(MARK)}\0".encode()
    for name in filter(str.isdigit, os.listdir("/proc")):
        process = Path("/proc", name)
        with contextlib.suppress(OSError):
            # The name in parentheses may hold anything; the parent is the second field after it.
            state, parent = (process / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state in (b"Z", b"X") or int(name) == os.getpid():
                continue
            if int(parent) != os.getpid() and mark not in (process / "environ").read_bytes():
                continue
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if not any(known in words for known in KEPT_PROCESSES):
                yield int(name), words.strip()


def _note_shared_memory(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: sees every file this process may make, and every folder."""
    # Who merely reads, as a search for secrets does, leaves nothing behind.
    if (event == "open" and arguments[2] & os.O_CREAT) or event == "os.mkdir":
        path = arguments[0]
        if isinstance(path, str) and path.startswith(SHARED_MEMORY):
            _opened_in_shared_memory.add(path)
