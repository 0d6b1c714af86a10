"""Runs on this machine: one run host process per attempt, watched through its pidfd."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from mosaic import runhost
from mosaic.contracts.run_files import AttemptFiles, AttemptSpec, shared_memory_prefixes
from mosaic.daemon.executors.attempt_fate import examine_attempt, is_attempt_alive
from mosaic.daemon.executors.base import (
    AttemptFate,
    AttemptKey,
    AttemptVerdict,
    OnGone,
    WorkerProcess,
)
from mosaic.errors import CorruptStoreError, StoreError, WorkerStartError
from mosaic.files import TRANSIENT_ERRORS
from mosaic.logs import get_logger
from mosaic.paths import Home
from mosaic.processes import ProcessIdentity, identity_of, open_pidfd, process_state, send_signal
from mosaic.runhost.attempt_files import read_live, set_aside, was_set_aside
from mosaic.runhost.attempt_processes import find_host, find_worker, kill_leftovers
from mosaic.runhost.shared_memory import unlink_shared_memory

log = get_logger(__name__)

HOST_PROGRAM = str(Path(runhost.__file__).with_name("__main__.py"))
CONNECT_TIMEOUT_S = 5.0
REPLY_TIMEOUT_S = 5.0
# How often to look at a lock whose holder has not yet said who it is.
LOCK_POLL_S = 0.1
HOST_DEATH_S = 5.0
# Deciding may have to write the claim; after these errors it can be tried later.
_WAIT_FOR = {*TRANSIENT_ERRORS, errno.ENOSPC, errno.EDQUOT, errno.EROFS}


class LocalExecutor:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._pidfds: dict[AttemptKey, int] = {}
        # What is known of live attempts without any of their files.
        self._hosts: dict[AttemptKey, ProcessIdentity] = {}
        self._workers: dict[AttemptKey, ProcessIdentity] = {}
        self._problems: dict[AttemptKey, str] = {}
        self._destroyed: set[AttemptKey] = set()
        self._lock_watchers: dict[AttemptKey, asyncio.Task[None]] = {}

    async def launch(self, spec: AttemptSpec, on_gone: OnGone) -> None:
        files = self._home.run(spec.run_id).attempt(spec.attempt)
        files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            process = await asyncio.to_thread(_spawn_host, spec, files.host_log)
        except OSError as error:
            raise WorkerStartError(
                f"The run host could not be started: {error.strerror}",
                hint="is the machine out of processes or memory?",
            ) from error
        key = AttemptKey(spec.run_id, spec.attempt)
        identity = identity_of(process.pid)
        if identity is None or not self._watch(key, identity, on_gone):
            # Gone before we could look; its files tell the rest.
            _reap(process.pid)
            asyncio.get_running_loop().call_soon(on_gone, key)

    async def adopt(self, key: AttemptKey, commitment: str, on_gone: OnGone) -> AttemptVerdict:
        verdict = await self._examine(key, commitment)
        if verdict.fate is not AttemptFate.ALIVE:
            self._forget(key)
            return verdict
        host = await asyncio.to_thread(find_host, self._files(key))
        if host is None or not self._watch(key, host, on_gone):
            self._watch_lock(key, on_gone)
        return verdict

    async def _examine(self, key: AttemptKey, commitment: str) -> AttemptVerdict:
        files = self._files(key)
        is_destroyed = key in self._destroyed
        try:
            return await asyncio.to_thread(examine_attempt, files, key, commitment, is_destroyed)
        except OSError as error:
            if error.errno not in _WAIT_FOR:
                remark = f"Its folder cannot be used ({error.strerror})."
                log.error("attempt_folder.refused", run_id=key.run_id, error=str(error))
                return AttemptVerdict(AttemptFate.LOST, remark=remark)
            raise StoreError(
                f"What became of the run cannot be decided: {error.strerror}",
                hint="free some space",
                run_id=key.run_id,
            ) from error

    async def control(self, key: AttemptKey, command: dict[str, Any]) -> dict[str, Any]:
        reader, writer = await self._connect(key)
        try:
            writer.write(json.dumps(command).encode() + b"\n")
            await writer.drain()
            line = await asyncio.wait_for(reader.readline(), REPLY_TIMEOUT_S)
            reply = json.loads(line) if line else {"ok": False, "error": "no reply"}
        # ValueError: what answers there sends too much, or no JSON: it is not a run host of ours.
        except (TimeoutError, OSError, ValueError, RecursionError) as error:
            raise WorkerStartError(
                "The run host did not answer in time", run_id=key.run_id
            ) from error
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        return reply if isinstance(reply, dict) else {"ok": False, "error": "no reply"}

    async def _connect(self, key: AttemptKey) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        path = self._home.control_socket(key.run_id, key.attempt)
        deadline = asyncio.get_running_loop().time() + CONNECT_TIMEOUT_S
        while True:
            try:
                return await asyncio.open_unix_connection(str(path))
            except OSError as error:
                # Not there, or not listening yet: the host may just be starting.
                is_early = isinstance(error, FileNotFoundError | ConnectionRefusedError)
                if not is_early or asyncio.get_running_loop().time() > deadline:
                    raise WorkerStartError(
                        "The run host does not answer",
                        hint="the run may just have ended; `mosaic show RUN` tells",
                        run_id=key.run_id,
                    ) from error
                await asyncio.sleep(0.02)

    async def terminate(self, key: AttemptKey) -> bool:
        host = self._hosts.get(key) or await asyncio.to_thread(find_host, self._files(key))
        return host is not None and send_signal(host, signal.SIGTERM)

    async def poll(self, key: AttemptKey) -> WorkerProcess:
        if key not in self._workers:
            worker = await asyncio.to_thread(self._find_worker, key)
            if worker is None:
                return WorkerProcess(None, self._problems.get(key, ""))
            self._workers[key] = worker
        return WorkerProcess(process_state(self._workers[key]), self._problems.get(key, ""))

    def _find_worker(self, key: AttemptKey) -> ProcessIdentity | None:
        files = self._files(key)
        try:
            if read_live(files) is None and not was_set_aside(files.live):
                return None  # not started yet
        except CorruptStoreError as error:
            refused = set_aside(files.live)
            kept = f"; it is kept as {refused.name}" if refused else ""
            self._problems[key] = f"{error}{kept}. The run itself goes on"
            log.error("attempt_file.refused", run_id=key.run_id, problem=self._problems[key])
        host = self._hosts.get(key) or find_host(files)
        return None if host is None else find_worker(files, host)

    async def destroy(self, key: AttemptKey) -> None:
        if key in self._pidfds or key in self._lock_watchers:
            self._destroyed.add(key)  # until whoever watches it notices
        await asyncio.to_thread(_kill_attempt, self._home, key, self._hosts.get(key))

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        for fd in self._pidfds.values():
            loop.remove_reader(fd)
            os.close(fd)
        self._pidfds.clear()
        for task in self._lock_watchers.values():
            task.cancel()

    def _watch(self, key: AttemptKey, host: ProcessIdentity, on_gone: OnGone) -> bool:
        fd = open_pidfd(host)
        if fd is None:
            return False
        loop = asyncio.get_running_loop()
        self._pidfds[key] = fd
        self._hosts[key] = host

        def gone() -> None:
            loop.remove_reader(fd)
            os.close(fd)
            self._pidfds.pop(key, None)
            self._hosts.pop(key, None)
            _reap(host.pid)
            on_gone(key)

        loop.add_reader(fd, gone)
        return True

    def _watch_lock(self, key: AttemptKey, on_gone: OnGone) -> None:
        """For a host that cannot be found, usually because it has just started: wait for either to
        change.
        """

        async def watch() -> None:
            files = self._files(key)
            while await asyncio.to_thread(is_attempt_alive, files, key in self._destroyed):
                host = await asyncio.to_thread(find_host, files)
                if host is not None and self._watch(key, host, on_gone):
                    return
                await asyncio.sleep(LOCK_POLL_S)
            on_gone(key)

        self._lock_watchers[key] = task = asyncio.create_task(watch())
        task.add_done_callback(lambda _: self._lock_watchers.pop(key, None))

    def _files(self, key: AttemptKey) -> AttemptFiles:
        return self._home.run(key.run_id).attempt(key.attempt)

    def _forget(self, key: AttemptKey) -> None:
        self._destroyed.discard(key)
        for known in (self._workers, self._problems):
            known.pop(key, None)


def _spawn_host(spec: AttemptSpec, log_path: Path) -> subprocess.Popen[bytes]:
    # Nothing of ours is there yet; what is, may be a link or a FIFO that nobody reads.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    log_fd = os.open(log_path, flags, 0o600)
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", HOST_PROGRAM],
            stdin=subprocess.PIPE,
            stdout=log_fd,
            stderr=log_fd,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), **_fault_injection()},
            start_new_session=True,
        )
    finally:
        os.close(log_fd)
    if process.stdin is None:
        raise WorkerStartError("The run host has no standard input")
    with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(json.dumps(spec.to_dict()).encode())
    # From here on the pidfd tells about its end; keep Popen from warning that it still runs.
    process.returncode = 0
    return process


def _fault_injection() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k.startswith("MOSAIC_FAKE_")}


def _reap(pid: int) -> None:
    """Collect our own child; a host adopted from an earlier daemon is not ours to collect."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _kill_attempt(home: Home, key: AttemptKey, known_host: ProcessIdentity | None) -> None:
    """End the host and, as it would have done itself, all processes; free what they used."""
    files = home.run(key.run_id).attempt(key.attempt)
    host = known_host or find_host(files)
    if host is not None:
        send_signal(host, signal.SIGKILL)
        _await_end(host)
    killed = kill_leftovers(files, key.run_id, key.attempt)
    removed = unlink_shared_memory(shared_memory_prefixes(key.run_id))
    with contextlib.suppress(OSError):
        home.control_socket(key.run_id, key.attempt).unlink()
    log.info("host.replaced", run_id=key.run_id, killed=killed, shared_memory=len(removed))


def _await_end(host: ProcessIdentity) -> None:
    fd = open_pidfd(host)
    if fd is not None:
        end = select.poll()
        end.register(fd, select.POLLIN)
        end.poll(HOST_DEATH_S * 1000)
        os.close(fd)
