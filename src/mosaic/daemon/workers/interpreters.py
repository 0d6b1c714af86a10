"""Other Python interpreters: runs a short program in one, and knows the version of each."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import InterpreterError


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
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float, question: str = ""
) -> ProbeResult:
    """`question`: what it reads. Raises OSError when the program cannot be started at all."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        # Its own group, so that nothing it starts can outlive the probe or hold the pipes open.
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(question.encode(), timeout=timeout_s)
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


OLDEST_PYTHON = (3, 11)
PROBE_TIMEOUT_S = 10.0
_TELL_VERSION = "import sys; print('python', *sys.version_info[:3])"
_known: dict[tuple[str, int], tuple[int, ...]] = {}
_lock = threading.Lock()


def python_version(python: str) -> tuple[int, ...]:
    """Raises InterpreterError when the file is missing or is not a Python."""
    if python == sys.executable:
        return tuple(sys.version_info[:3])
    try:
        key = (python, Path(python).stat().st_mtime_ns)
    except OSError as error:
        raise InterpreterError(
            f"The interpreter {python} cannot be used: {error.strerror}",
            hint="check the path, or create the virtual environment",
            python=python,
        ) from error
    with _lock:
        if key not in _known:
            _known[key] = _ask_version(python)
        return _known[key]


def check_python(python: str) -> tuple[int, ...]:
    """The version; raises InterpreterError when it is too old for the worker SDK."""
    version = python_version(python)
    if version < OLDEST_PYTHON:
        raise InterpreterError(
            f"{python} is Python {version_text(version)}, which is too old",
            hint=f"create the environment with Python {version_text(OLDEST_PYTHON)} or newer",
            python=python,
        )
    return version


def version_text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _ask_version(python: str) -> tuple[int, ...]:
    environment = {"PATH": os.environ.get("PATH", os.defpath)}
    try:
        answer = run_probe([python, "-I", "-S", "-c", _TELL_VERSION], environment, PROBE_TIMEOUT_S)
    except OSError as error:
        raise InterpreterError(
            f"The interpreter {python} cannot be started: {error.strerror}",
            hint="name an executable Python interpreter",
            python=python,
        ) from error
    words = answer.stdout.split()
    if answer.returncode != 0 or len(words) != 4 or words[0] != "python":
        raise InterpreterError(
            f"{python} is not a Python interpreter: {answer.complaint}",
            hint="a script belongs into metadata.worker.script",
            python=python,
        )
    return tuple(int(word) for word in words[1:])
