"""A worker started as the run host would start it, for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from mosaic.contracts import worker_environment as variables
from mosaic.contracts.run_config import RESERVED_PREFIX
from mosaic.files import atomic_write_json
from mosaic.testing.event_check import parse_journal

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
Answer = TypeVar("Answer")


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Ours without MOSAIC's own variables, which would leak from one run into another."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith(RESERVED_PREFIX)}
    return {**kept, **extra}


def poll(probe: Callable[[], Answer], timeout_s: float, what: str) -> Answer:
    """The first truthy answer; fails when none comes in time."""
    deadline = time.monotonic() + timeout_s
    while not (answer := probe()):
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s for {what}"
        time.sleep(0.01)
    return answer


class WorkerProcess:
    """Use as a context manager: leaving it kills whatever still runs."""

    def __init__(
        self,
        module: str,
        folder: Path,
        config: Mapping[str, Any],
        *,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] = (),
    ) -> None:
        self.run_directory = folder / "run"
        self.journal = self.run_directory / "events.jsonl"
        self._stdout, self._stderr = folder / "stdout.txt", folder / "stderr.txt"
        self.run_directory.mkdir(parents=True)
        config_file = folder / "config.json"
        atomic_write_json(config_file, config)
        told = {
            variables.RUN_ID: RUN_ID,
            variables.RUN_DIR: str(self.run_directory),
            variables.JOURNAL: str(self.journal),
            variables.CONTROL: "stdin",
            **(environment or {}),
        }
        with self._stdout.open("xb") as stdout, self._stderr.open("xb") as stderr:
            self.process = subprocess.Popen(
                [python, "-m", f"{module}.cli", "--config", str(config_file), *arguments],
                cwd=folder,
                env=clean_environment(told),
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()

    @property
    def stdout(self) -> str:
        return self._stdout.read_text()

    @property
    def stderr(self) -> str:
        return self._stderr.read_text()

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        content = self.journal.read_bytes() if self.journal.exists() else b""
        return [event for event in parse_journal(content) if kind in (None, event["type"])]

    def wait_for(self, kind: str, timeout_s: float, count: int = 1) -> dict[str, Any]:
        """The latest event of a kind, once there are that many of them."""

        def probe() -> list[dict[str, Any]] | None:
            found = self.events(kind)
            if len(found) < count:
                assert self.process.poll() is None, f"ended without {kind}: {self.stderr}"
                return None
            return found

        found = poll(probe, timeout_s, f"{count} x {kind}")
        assert found is not None
        return found[-1]

    def send(self, command: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def wait(self, timeout_s: float) -> int:
        """The exit status; negative for a signal."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"the worker still runs after {timeout_s:g} s; stderr: {self.stderr}"
            ) from None
