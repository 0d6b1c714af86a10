"""`mosaic watch` against a real daemon, in a folder with scripts."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from mosaic.contracts.run_record import RunRecord
from tests import journal_lines
from tests.daemon_harness import DaemonHarness
from tests.waiting import PATIENCE_S

# A script that speaks over the bridge itself.
REPORTS = """
import json, os
bridge = os.open(os.environ["MOSAIC_BRIDGE"], os.O_WRONLY)
def say(kind, **fields):
    os.write(bridge, json.dumps({"kind": kind, **fields}).encode() + b"\\n")
"""


class Watcher:
    def __init__(self, daemon: DaemonHarness, folder: Path) -> None:
        self.daemon = daemon
        self.folder = folder
        self.environment = {**daemon.environment, "PYTHONWARNINGS": "error"}

    def script(self, name: str, text: str, mode: int = 0o600) -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        path.chmod(mode)
        return path

    def call(
        self, *words: str, status: int = 0, command: str = "watch"
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "mosaic.cli", command, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def record(self, *words: str, status: int = 0) -> RunRecord:
        """The run, followed to its end."""
        answer = json.loads(self.call("--json", *words, status=status).stdout)
        return self.daemon.client.get_run(answer["run_id"])

    def detached(self, *words: str) -> str:
        return self.call("--detach", *words).stdout.strip()

    def log(self, run_id: str, stream: str) -> str:
        files = sorted(self.daemon.home.run(run_id).logs.glob(f"*{stream}*"))
        return "".join(path.read_text() for path in files)

    def manifest(self, run_id: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.daemon.home.run(run_id).manifest.read_text())
        return content

    def events(self, run_id: str, kind: str) -> list[dict[str, Any]]:
        lines = journal_lines.content(self.daemon.home.run(run_id).journal).splitlines()
        return [event for event in map(json.loads, lines) if event["type"] == kind]

    def notes(self, run_id: str) -> list[str]:
        payloads = [event["payload"] for event in self.events(run_id, "heartbeat")]
        return [payload["note"] for payload in payloads if "note" in payload]
