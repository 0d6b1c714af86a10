"""The executor of this machine keeps the contract, with real run hosts and workers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ulid import ULID

from mosaic.contracts.run_files import AttemptSpec
from mosaic.contracts.worker_environment import ATTEMPT, RUN_ID
from mosaic.daemon.executors import local
from mosaic.daemon.executors.base import AttemptKey
from mosaic.daemon.executors.local import LocalExecutor
from mosaic.paths import Home
from mosaic.runhost.attempt_files import read_claim, read_live
from tests.executor_contract import PROOF, Bench, ExecutorContract

# Ends with the code that it finds in the file it is given.
WORKER = """
import pathlib, sys, time
order = pathlib.Path(sys.argv[1])
while not order.exists():
    time.sleep(0.02)
sys.exit(int(order.read_text()))
"""


class LocalBench:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._executors: list[LocalExecutor] = []
        self._keys: list[AttemptKey] = []

    def executor(self) -> LocalExecutor:
        self._executors.append(LocalExecutor(self._home))
        return self._executors[-1]

    def spec(self) -> AttemptSpec:
        key = AttemptKey(str(ULID()), 1)
        self._keys.append(key)
        files = self._home.run(key.run_id)
        files.directory.mkdir(parents=True)
        return AttemptSpec(
            run_id=key.run_id,
            attempt=key.attempt,
            run_directory=str(files.directory),
            worker_name="worker",
            argv=(sys.executable, "-I", "-S", "-c", WORKER, str(self._order(key))),
            cwd=str(files.directory),
            environment={RUN_ID: key.run_id, ATTEMPT: str(key.attempt)},
            control_socket=str(self._home.control_socket(key.run_id, key.attempt)),
            control="signals",
            exit_proof=PROOF,
        )

    async def end_worker(self, key: AttemptKey, exit_code: int) -> None:
        draft = self._order(key).with_suffix(".draft")
        draft.write_text(str(exit_code))
        draft.rename(self._order(key))

    async def kill_host(self, key: AttemptKey) -> None:
        live = read_live(self._home.run(key.run_id).attempt(key.attempt))
        assert live is not None
        os.kill(live.host.pid, signal.SIGKILL)
        os.kill(live.worker.pid, signal.SIGKILL)

    async def close(self) -> None:
        for key in self._keys:
            await self._executors[-1].destroy(key)
        for executor in self._executors:
            await executor.close()
        # Both daemons are this process: a host that ended between them is still to be waited for.
        for key in self._keys:
            claim = read_claim(self._home.run(key.run_id).attempt(key.attempt))
            if claim is not None and claim.host is not None:
                with contextlib.suppress(ChildProcessError):
                    await asyncio.to_thread(os.waitpid, claim.host.pid, 0)

    def _order(self, key: AttemptKey) -> Path:
        return self._home.run(key.run_id).directory / "order"


class TestLocalExecutor(ExecutorContract):
    @pytest.fixture
    async def bench(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
        # Where nobody answers, nobody will: no test here asks a host that is just starting.
        monkeypatch.setattr(local, "CONNECT_TIMEOUT_S", 0.1)
        home = Home(tmp_path)
        home.create()
        made = LocalBench(home)
        yield made
        await made.close()
        await asyncio.to_thread(home.runtime.rmdir)
