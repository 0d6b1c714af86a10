"""A daemon to be mistreated, and the four invariants that must hold once the test is over:

no process of it anywhere, shared memory and slots as before, a sound registry, and the canary
secret that every run carries in no file.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from mosaic.contracts.run_files import AttemptFiles, LiveRecord
from mosaic.errors import MosaicError
from mosaic.files import read_json
from mosaic.processes import stat_fields
from mosaic.runhost.linux import become_subreaper
from tests.daemon_harness import DaemonHarness
from tests.waiting import wait_until


class ChaosDaemon(DaemonHarness):
    def __init__(self, root: Path, **environment: str) -> None:
        super().__init__(root, **environment)
        self.canary = f"canary-{secrets.token_hex(12)}"

    def submit(self, **changes: Any) -> str:
        return super().submit(**self.carrying_canary(changes))

    def carrying_canary(self, changes: dict[str, Any]) -> dict[str, Any]:
        environment = {"WANDB_API_KEY": self.canary, **changes.get("environment", {})}
        return {**changes, "environment": environment}

    def submit_python(self, program: str, *arguments: str, **changes: Any) -> str:
        """The cheapest worker there is: a line of Python without `site`."""
        return self.submit(**python_run(program, *arguments), **changes)

    def attempt(self, run_id: str, number: int = 1) -> AttemptFiles:
        return self.home.run(run_id).attempt(number)

    def live(self, run_id: str, number: int = 1) -> LiveRecord:
        """Who hosts and who executes an attempt, as soon as its run host has said so."""
        path = self.attempt(run_id, number).live
        return LiveRecord.from_dict(wait_until(lambda: read_json(path), 20, f"{path}"))

    def output(self, run_id: str) -> str:
        text = ""
        for path in self.home.run(run_id).logs.glob("*.stdout.log"):
            text += path.read_text(errors="replace")
        return text

    def wait_for_output(self, run_id: str, text: str) -> str:
        wait_until(lambda: text in self.output(run_id), 20, f"{text!r} on stdout of {run_id}")
        return self.output(run_id)

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Every record of this event in the daemon's log."""
        with contextlib.suppress(FileNotFoundError):
            lines = self.home.daemon_log.read_text().splitlines()
            entries = [json.loads(line) for line in lines if line.startswith("{")]
            return [entry for entry in entries if entry["event"] == event]
        return []

    def close(self) -> None:
        if self.process is None or self.process.poll() is not None:
            self.start()  # somebody has to end the runs that a failed test left
        try:
            super().close()
        finally:
            self.process = None

    def assert_slots_free(self) -> None:
        health = self.client.health()
        assert (health.live_runs, health.queued_runs) == (0, 0)
        assert health.cpus_free == health.cpus_total
        assert health.memory_mb_free == health.memory_mb_total


@contextmanager
def chaos_daemon(**environment: str) -> Iterator[ChaosDaemon]:
    with (
        tempfile.TemporaryDirectory(prefix="mosaic-chaos-") as folder,
        no_process_left(),
    ):
        daemon = ChaosDaemon(Path(folder), **environment)
        try:
            daemon.start()
            yield daemon
            if daemon.process is None:
                daemon.start()
            for record in daemon.client.list_runs():
                if not record.is_over:
                    with contextlib.suppress(MosaicError):  # it may just have ended
                        daemon.client.stop_run(record.run_id, grace_s=0)
                daemon.wait_over(record.run_id)
            daemon.assert_slots_free()
        finally:
            daemon.close()
        daemon.assert_nothing_left()
        told = daemon.files_containing(daemon.canary.encode())
        assert not told, f"the canary secret is in {told}"


@contextmanager
def no_process_left() -> Iterator[None]:
    """Every process that is started meanwhile, by whomever, must be gone at the end.

    As a subreaper we inherit all orphans, so nothing can hide by forking twice or by a session of
    its own. We reap them only at the end: a dead run host stays a zombie, as in a container whose
    first process reaps nobody.
    """
    become_subreaper()
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    try:
        yield
        wait_until(
            lambda: not living_children(before),
            10,
            f"no process left, but {living_children(before)}",
        )
    finally:
        for process in psutil.Process().children(recursive=True):
            if process.pid not in before:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        for process in psutil.Process().children():
            if process.pid not in before:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, 0)


def living_children(known: set[int]) -> list[str]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.pid not in known and is_running(process.pid):
                found.append(f"{process.pid} {process.cmdline()}")
    return found


def is_running(pid: int) -> bool:
    """False for a zombie: it is dead, and only waits to be counted."""
    fields = stat_fields(pid)
    return fields is not None and fields[0] not in "ZX"


def python_run(program: str, *arguments: str) -> dict[str, Any]:
    return {
        "entry_point": sys.executable,
        "arguments": ["-I", "-S", "-c", program, *arguments],
        "resources": {"cpus": 1, "memory_mb": 256},
    }


SLEEPER = "import time; time.sleep(600)"
