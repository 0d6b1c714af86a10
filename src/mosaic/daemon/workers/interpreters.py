"""Which version of Python a path is, asked once per file."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from mosaic.daemon.workers.probe import run_probe
from mosaic.errors import InterpreterError

OLDEST_PYTHON = (3, 11)
PROBE_TIMEOUT_S = 10.0
_PROGRAM = "import sys; print('python', *sys.version_info[:3])"
_known: dict[tuple[str, int], tuple[int, ...]] = {}
_lock = threading.Lock()


def python_version(python: str) -> tuple[int, ...]:
    """Raises InterpreterError when the file is missing or is no Python."""
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
            _known[key] = _ask(python)
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


def _ask(python: str) -> tuple[int, ...]:
    environment = {"PATH": os.environ.get("PATH", os.defpath)}
    try:
        answer = run_probe([python, "-I", "-S", "-c", _PROGRAM], environment, PROBE_TIMEOUT_S)
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
