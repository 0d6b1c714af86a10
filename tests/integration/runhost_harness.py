"""Starts real run hosts the way the daemon does, and looks at what they leave behind."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ulid import ULID

from mosaic.contracts.run_files import AttemptSpec, ExitRecord, LiveRecord, RunFiles
from mosaic.contracts.worker_environment import ATTEMPT, RUN_ID
from mosaic.files import read_json
from mosaic.processes import stat_fields
from mosaic.runhost.attempt_processes import kill_leftovers
from tests.waiting import PATIENCE_S, wait_until

SOURCE = Path(__file__).parents[2] / "src"
RUN_HOST = (sys.executable, "-I", "-S", str(SOURCE / "mosaic" / "runhost" / "__main__.py"))
MISBEHAVING = SOURCE / "mosaic" / "testing" / "misbehaving"


def misbehaving(name: str, *arguments: object) -> tuple[str, ...]:
    """The command line of one of the misbehaving workers."""
    script = MISBEHAVING / f"{name}.py"
    return (sys.executable, "-I", "-S", str(script), *map(str, arguments))


def is_running(pid: int) -> bool:
    fields = stat_fields(pid)
    return fields is not None and fields[0] not in "ZX"


class HostedRun:
    """One attempt below a directory of its own; `start` as often as you like."""

    def __init__(self, directory: Path, argv: Sequence[str], **changes: Any) -> None:
        self.files = RunFiles(directory)
        directory.mkdir(parents=True, exist_ok=True)
        # A socket path holds 107 bytes; a test's own directory can be longer than that.
        self._sockets = tempfile.TemporaryDirectory(prefix="mh-")
        # Control groups are the machine's: tests that run side by side must not share one.
        run_id = str(ULID())
        environment = {
            "PATH": os.environ["PATH"],
            RUN_ID: run_id,
            ATTEMPT: str(changes.get("attempt", 1)),
            **changes.pop("environment", {}),
        }
        spec = AttemptSpec(
            run_id=run_id,
            attempt=1,
            run_directory=str(directory),
            worker_name="worker",
            argv=tuple(argv),
            cwd=str(directory),
            environment=environment,
            control_socket=str(Path(self._sockets.name) / "control.sock"),
            control="signals",
            grace_s=5.0,
        )
        self.spec = spec._replace(**changes)
        self.attempt = self.files.attempt(self.spec.attempt)
        self.hosts: list[subprocess.Popen[bytes]] = []

    def start(self, command: Sequence[str] = RUN_HOST) -> subprocess.Popen[bytes]:
        return self.start_with(json.dumps(self.spec.to_dict()).encode(), command)

    def start_with(
        self, specification: bytes, command: Sequence[str] = RUN_HOST
    ) -> subprocess.Popen[bytes]:
        host = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.hosts.append(host)
        assert host.stdin is not None
        host.stdin.write(specification)
        host.stdin.close()
        return host

    def live(self, timeout_s: float = PATIENCE_S) -> LiveRecord:
        data: Any = wait_until(lambda: read_json(self.attempt.live), timeout_s, "live.json")
        return LiveRecord.from_dict(data)

    def exit(self, timeout_s: float = PATIENCE_S) -> ExitRecord:
        """The exit record, once the host is gone as well."""
        data: Any = wait_until(lambda: read_json(self.attempt.exit), timeout_s, "exit.json")
        for host in self.hosts:
            host.wait(PATIENCE_S)
        return ExitRecord.from_dict(data)

    def run(self, timeout_s: float = PATIENCE_S) -> ExitRecord:
        self.start()
        return self.exit(timeout_s)

    def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        """One request on the control socket, once it is there."""
        with wait_until(self._connected, what="the control socket") as client:
            client.settimeout(PATIENCE_S)
            client.sendall(json.dumps({"command": command, **fields}).encode() + b"\n")
            with client.makefile() as replies:
                reply: dict[str, Any] = json.loads(replies.readline())
        return reply

    def _connected(self) -> socket.socket | None:
        """The socket is there a moment before anybody listens."""
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(self.spec.control_socket)
        except (FileNotFoundError, ConnectionRefusedError):
            client.close()
            return None
        return client

    def log(self, stream: str) -> str:
        try:
            return self.files.log("worker", stream).read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def wait_for_output(self, text: str) -> str:
        wait_until(lambda: text in self.log("stdout"), what=f"{text!r} on stdout")
        return self.log("stdout")

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.files.journal.read_text().splitlines()]

    def clean_up(self) -> None:
        for host in self.hosts:
            host.kill()
            host.wait(PATIENCE_S)
        kill_leftovers(self.attempt, self.spec.run_id, self.spec.attempt)
        self._sockets.cleanup()


def groups_of(run: HostedRun) -> list[Path]:
    """The control groups the host announced in its claim."""
    try:
        claim = read_json(run.attempt.claim) or {}
    except ValueError:
        claim = {}  # killed between making it and writing it: no group was made yet
    return [Path(group) for group in claim.get("groups", ())]
