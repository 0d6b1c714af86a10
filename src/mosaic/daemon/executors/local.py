"""Runs on this machine: one run host process per attempt, watched through its pidfd."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from mosaic import runhost
from mosaic.contracts.run_files import AttemptSpec, LiveRecord, shared_memory_prefixes
from mosaic.daemon.executors.attempt_fate import examine_attempt
from mosaic.daemon.executors.base import AttemptFate, AttemptKey, OnGone, Verdict
from mosaic.errors import StoreError, WorkerStartError
from mosaic.files import read_json
from mosaic.logs import get_logger
from mosaic.paths import Home
from mosaic.processes import ProcessIdentity, identity_of, open_pidfd, process_state, send_signal
from mosaic.runhost.leftovers import kill_leftovers
from mosaic.runhost.shared_memory import unlink_shared_memory

log = get_logger(__name__)

HOST_PROGRAM = str(Path(runhost.__file__).with_name("__main__.py"))
CONNECT_TIMEOUT_S = 5.0
REPLY_TIMEOUT_S = 5.0
# How often to look at a lock whose holder has not yet said who it is.
LOCK_POLL_S = 0.1


class LocalExecutor:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._pidfds: dict[AttemptKey, int] = {}
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

    async def adopt(self, key: AttemptKey, on_gone: OnGone) -> Verdict:
        verdict = await self.examine(key)
        if verdict.fate is not AttemptFate.ALIVE:
            return verdict
        host = self._host_identity(key)
        if host is None or not self._watch(key, host, on_gone):
            self._watch_lock(key, on_gone)
        return verdict

    async def examine(self, key: AttemptKey) -> Verdict:
        files = self._home.run(key.run_id).attempt(key.attempt)
        try:
            return await asyncio.to_thread(examine_attempt, files)
        except OSError as error:  # deciding may have to write the claim
            raise StoreError(
                f"What became of the run cannot be decided: {error.strerror}",
                hint="free some space",
                run_id=key.run_id,
            ) from error

    async def control(self, key: AttemptKey, command: dict[str, Any]) -> dict[str, Any]:
        path = self._home.control_socket(key.run_id, key.attempt)
        deadline = asyncio.get_running_loop().time() + CONNECT_TIMEOUT_S
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(str(path))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if asyncio.get_running_loop().time() > deadline:
                    raise WorkerStartError(
                        "The run host does not answer",
                        hint="the run may just have ended; `mosaic show RUN` tells",
                        run_id=key.run_id,
                    ) from None
                await asyncio.sleep(0.02)
        try:
            writer.write(json.dumps(command).encode() + b"\n")
            await writer.drain()
            line = await asyncio.wait_for(reader.readline(), REPLY_TIMEOUT_S)
        except (TimeoutError, ConnectionError) as error:
            raise WorkerStartError(
                "The run host did not answer in time", run_id=key.run_id
            ) from error
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        reply: dict[str, Any] = json.loads(line) if line else {"ok": False, "error": "no reply"}
        return reply

    async def poll(self, key: AttemptKey) -> str | None:
        live = self._live(key)
        return None if live is None else process_state(live.worker)

    async def destroy(self, key: AttemptKey) -> None:
        host = self._host_identity(key)
        if host is not None:
            send_signal(host, signal.SIGKILL)
        await asyncio.to_thread(_clean_after_host, self._home, key)

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

        def gone() -> None:
            loop.remove_reader(fd)
            os.close(fd)
            self._pidfds.pop(key, None)
            _reap(host.pid)
            on_gone(key)

        loop.add_reader(fd, gone)
        return True

    def _watch_lock(self, key: AttemptKey, on_gone: OnGone) -> None:
        """For a host so young that it has not written its identity: wait for either to change."""

        async def watch() -> None:
            while True:
                verdict = await self.examine(key)
                if verdict.fate is not AttemptFate.ALIVE:
                    break
                host = self._host_identity(key)
                if host is not None and self._watch(key, host, on_gone):
                    return
                await asyncio.sleep(LOCK_POLL_S)
            on_gone(key)

        self._lock_watchers[key] = task = asyncio.create_task(watch())
        task.add_done_callback(lambda _: self._lock_watchers.pop(key, None))

    def _live(self, key: AttemptKey) -> LiveRecord | None:
        data = read_json(self._home.run(key.run_id).attempt(key.attempt).live)
        return None if data is None else LiveRecord.from_dict(data)

    def _host_identity(self, key: AttemptKey) -> ProcessIdentity | None:
        live = self._live(key)
        if live is not None:
            return live.host
        try:
            claim = read_json(self._home.run(key.run_id).attempt(key.attempt).claim)
            return None if claim is None else ProcessIdentity.from_dict(claim)
        except (ValueError, KeyError):
            return None  # claimed, but not yet written through


def _spawn_host(spec: AttemptSpec, log_path: Path) -> subprocess.Popen[bytes]:
    log_fd = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
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


def _clean_after_host(home: Home, key: AttemptKey) -> None:
    """What the host would have done itself: end all processes, free shared memory and socket."""
    killed = kill_leftovers(home.run(key.run_id).attempt(key.attempt), key.run_id, key.attempt)
    removed = unlink_shared_memory(shared_memory_prefixes(key.run_id))
    home.control_socket(key.run_id, key.attempt).unlink(missing_ok=True)
    log.info("host.replaced", run_id=key.run_id, killed=killed, shared_memory=len(removed))
