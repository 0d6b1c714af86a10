"""Runs a short program of another environment and reads what it says, within a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ProbeResult:
    # None: it did not end in time.
    returncode: int | None
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """Its last words, which of a Python traceback are the error itself."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1][:500] if lines else f"it ended with exit code {self.returncode}"


def run_probe(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> ProbeResult:
    """Raises OSError when the program cannot be started at all."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        # Its own group, so that nothing it starts can outlive the probe or hold the pipes open.
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
        returncode: int | None = process.returncode
    except subprocess.TimeoutExpired:
        _kill_group(process)
        stdout, stderr = process.communicate()
        returncode = None
    except BaseException:
        _kill_group(process)
        process.wait()
        raise
    return ProbeResult(
        returncode, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
    )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
