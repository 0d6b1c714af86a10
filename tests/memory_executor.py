"""An executor without processes, for tests of what the supervisor makes of run hosts.

It keeps the contract of `daemon.executors.base`, which `executor_contract` holds it and the real
one to. The machine outlives its executors, as run hosts outlive the daemon. What a worker does is
told by the test: it ends, its host is killed, the machine is restarted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.run_files import AttemptSpec, ExitRecord
from mosaic.daemon.executors.attempt_fate import commitment_of
from mosaic.daemon.executors.base import (
    AttemptFate,
    AttemptKey,
    AttemptVerdict,
    OnGone,
    WorkerProcess,
)
from mosaic.errors import WorkerStartError

SIGTERM = 15


@dataclass
class MemoryHost:
    """A run host, and after its end what it left."""

    spec: AttemptSpec
    is_alive: bool = True
    is_paused: bool = False
    exit: ExitRecord | None = None
    has_seen_restart: bool = False
    watchers: list[tuple[MemoryExecutor, OnGone]] = field(default_factory=list)
    # Every command, in order.
    commands: list[dict[str, Any]] = field(default_factory=list)


class MemoryMachine:
    def __init__(self) -> None:
        self.hosts: dict[AttemptKey, MemoryHost] = {}
        # Launches of which we know that they can never start a worker.
        self.refused: set[AttemptKey] = set()
        # Clear it, and launches wait until it is set again.
        self.may_launch = asyncio.Event()
        self.may_launch.set()
        # Why no run host can be started, where none can.
        self.launch_error = ""

    def live_host(self, key: AttemptKey) -> MemoryHost | None:
        host = self.hosts.get(key)
        return host if host is not None and host.is_alive else None

    def finish(
        self,
        key: AttemptKey,
        exit_code: int | None = 0,
        *,
        signal: int | None = None,
        **fields: Any,
    ) -> None:
        """The worker ends, and its host says so with the proof that it was the host."""
        host = self.hosts[key]
        told = {"proof": host.spec.exit_proof, **fields}
        host.exit = ExitRecord(key.run_id, key.attempt, exit_code, signal, 1.0, 2.0, **told)
        self._end(key, host)

    def kill_host(self, key: AttemptKey) -> None:
        """And the worker with it, without a last word."""
        self._end(key, self.hosts[key])

    def restart(self) -> None:
        """Of the whole machine: nobody is there to see its hosts end."""
        for host in self.hosts.values():
            host.watchers.clear()
            host.has_seen_restart = True
            host.is_alive = False

    def _end(self, key: AttemptKey, host: MemoryHost) -> None:
        host.is_alive = False
        watchers, host.watchers = host.watchers, []
        for _, on_gone in watchers:
            asyncio.get_running_loop().call_soon(on_gone, key)


class MemoryExecutor:
    def __init__(self, machine: MemoryMachine) -> None:
        self._machine = machine

    async def launch(self, spec: AttemptSpec, on_gone: OnGone) -> None:
        machine, key = self._machine, AttemptKey(spec.run_id, spec.attempt)
        await machine.may_launch.wait()
        if machine.launch_error:
            raise WorkerStartError(machine.launch_error)
        if key in machine.refused:
            asyncio.get_running_loop().call_soon(on_gone, key)
            return
        machine.hosts[key] = MemoryHost(spec, watchers=[(self, on_gone)])

    async def adopt(self, key: AttemptKey, commitment: str, on_gone: OnGone) -> AttemptVerdict:
        host = self._machine.hosts.get(key)
        if host is None:
            self._machine.refused.add(key)
            return AttemptVerdict(AttemptFate.NEVER_STARTED)
        if host.is_alive:
            host.watchers.append((self, on_gone))
            return AttemptVerdict(AttemptFate.ALIVE)
        remark = ""
        if host.exit is not None:
            if not commitment or commitment_of(host.exit.proof) == commitment:
                return AttemptVerdict(AttemptFate.EXITED, host.exit)
            remark = "Its last word was not that of its run host."
        fate = AttemptFate.INTERRUPTED if host.has_seen_restart else AttemptFate.LOST
        return AttemptVerdict(fate, remark=remark)

    async def control(self, key: AttemptKey, command: dict[str, Any]) -> dict[str, Any]:
        host = self._machine.live_host(key)
        if host is None:
            raise WorkerStartError("The run host does not answer", run_id=key.run_id)
        host.commands.append(command)
        match command.get("command"):
            case "stop":
                self._machine.finish(key, None, signal=SIGTERM, stop_reason=command["reason"])
            case "pause":
                host.is_paused = True
            case "resume":
                host.is_paused = False
            case other:
                return {"ok": False, "error": f"unknown command {other!r}"}
        return {"ok": True}

    async def terminate(self, key: AttemptKey) -> bool:
        if self._machine.live_host(key) is None:
            return False
        self._machine.finish(key, None, signal=SIGTERM, stop_reason="host_terminated")
        return True

    async def poll(self, key: AttemptKey) -> WorkerProcess:
        host = self._machine.live_host(key)
        if host is None:
            return WorkerProcess(None)
        return WorkerProcess("T" if host.is_paused else "S")

    async def destroy(self, key: AttemptKey) -> None:
        if self._machine.live_host(key) is not None:
            self._machine.kill_host(key)

    async def close(self) -> None:
        for host in self._machine.hosts.values():
            host.watchers = [(owner, gone) for owner, gone in host.watchers if owner is not self]
