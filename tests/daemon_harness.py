"""A real daemon in a home of its own, for integration and chaos tests, with leak checks."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mosaic.client.trainer_client import TrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RunStateError
from mosaic.files import read_json
from mosaic.paths import Home
from tests.waiting import wait_until

MISBEHAVING = "mosaic.testing.misbehaving"


class DaemonHarness:
    """Starts, kills and restarts the daemon of one home; `client` never starts one by itself."""

    def __init__(self, root: Path, **environment: str) -> None:
        self.home = Home(root)
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")},
            "MOSAIC_HOME": str(root),
            # More than any test asks for at once, whatever machine it runs on.
            "MOSAIC_CPUS": "64",
            "MOSAIC_MEMORY_MB": "65536",
            "MOSAIC_MIN_FREE_MB": "1",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None
        self._client: TrainerClient | None = None

    def start(self, *arguments: str) -> None:
        self.launch(*arguments)
        wait_until(self.is_announced, 15, "the daemon to announce itself")

    def launch(self, *arguments: str) -> None:
        """Start the daemon without waiting for it."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mosaic.daemon", "--home", str(self.home.root), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def is_announced(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the daemon ended with {self.process.returncode}"
        return (read_json(self.home.daemon_info) or {}).get("pid") == self.process.pid

    def kill(self) -> None:
        """kill -9, as the chaos suite means it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self.process = None

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(15)
            self.process = None

    @property
    def client(self) -> TrainerClient:
        if self._client is None:
            self._client = TrainerClient(home=self.home, autostart=False)
        return self._client

    def submit(self, **changes: Any) -> str:
        return self.client.start_run(run_document(**changes))

    def submit_script(self, module: str, *arguments: str, **changes: Any) -> str:
        """A misbehaving worker, run as a plain program without the SDK."""
        command = ["-m", f"{MISBEHAVING}.{module}", *arguments]
        return self.submit(entry_point=sys.executable, arguments=command, **changes)

    def wait_for(self, run_id: str, *states: str, timeout_s: float = 60) -> RunRecord:
        def reached() -> RunRecord | None:
            record = self.client.get_run(run_id)
            return record if record.state in states else None

        record = wait_until(reached, timeout_s, f"run {run_id} in {states}")
        assert record is not None
        return record

    def wait_over(self, run_id: str, timeout_s: float = 60) -> RunRecord:
        return self.wait_for(run_id, "TERM", timeout_s=timeout_s)

    def close(self) -> None:
        try:
            if self.process is not None and self.process.poll() is None:
                for record in self.client.list_runs(limit=0):
                    if not record.is_over:
                        with suppress(RunStateError):  # it ended meanwhile
                            self.client.stop_run(record.run_id, grace_s=0)
                        self.wait_over(record.run_id)
        finally:
            if self._client is not None:
                self._client.close()
            if self.process is not None and self.process.poll() is None:
                self.stop()

    def processes(self) -> list[int]:
        """Every process on this machine that belongs to this home, by its environment or argv."""
        marks = [os.fsencode(self.home.root)]
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    text = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                except OSError:
                    continue
                if any(mark in text for mark in marks):
                    found.append(int(entry.name))
        return found

    def shared_memory(self) -> list[str]:
        """What is below /dev/shm because of this home: segments of its runs, its secrets."""
        # Daemons of other homes may be at work on this machine: theirs is none of our business.
        digest = hashlib.sha256(os.fsencode(self.home.root)).hexdigest()[:10]
        marks = [digest, *(path.name for path in self.home.runs.glob("*"))]
        names = [path.name for path in Path("/dev/shm").glob("mosaic*")]
        return [name for name in names if any(mark in name for mark in marks)]

    def assert_nothing_left(self) -> None:
        wait_until(lambda: not self.processes(), 10, f"no process left, but {self.processes()}")
        leaked = self.shared_memory()
        assert not leaked, f"shared memory left behind: {leaked}"
        if self.home.runtime.exists():
            assert not list(self.home.runtime.iterdir()), "sockets left behind"
            self.home.runtime.rmdir()
        if self.home.registry.exists():
            with sqlite3.connect(self.home.registry) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            connection.close()

    def files_containing(self, needle: bytes) -> list[Path]:
        return [path for path, content in contents_below(self.home.root) if needle in content]


def contents_below(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    """All files with what is in them, unpacked.

    Not those that go meanwhile: a daemon that packs a journal has an unfinished one beside it.
    """
    for folder in folders:
        for path in folder.rglob("*") if folder.exists() else ():
            if path.is_file() and not path.is_symlink():
                with suppress(FileNotFoundError):
                    yield path, unpacked(path)


def unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


@contextmanager
def running_daemon(**environment: str) -> Iterator[DaemonHarness]:
    """A daemon in a fresh home; afterwards nothing of it may be left on the machine."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as folder:
        harness = DaemonHarness(Path(folder), **environment)
        try:
            harness.start()
            yield harness
        finally:
            harness.close()
        harness.assert_nothing_left()


def run_document(**changes: Any) -> dict[str, Any]:
    """A valid TrainRunConfig with a tiny run of the shipped baseline worker."""
    config = {"env_id": "CartPole-v1", "policy": "random", "seed": 1, "episodes": 3}
    document: dict[str, Any] = {
        "run_name": "test",
        "entry_point": "baseline",
        "arguments": [],
        "environment": {},
        "resources": {"cpus": 1, "memory_mb": 512},
        "artifacts": {},
        "metadata": {"worker": {"config": {**config, **changes.pop("config", {})}}},
    }
    if changes.get("entry_point"):
        document["metadata"] = {}
    return {**document, **changes}
