"""The worker (or script) is there: its module can be found in the interpreter that will run it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from mosaic.daemon.launch.environment import inherited_environment, joined_path
from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.daemon.workers.probe import run_probe
from mosaic.errors import ConfigError, DependencyError

CHECK = "worker"
FIND_TIMEOUT_S = 30.0
_PROGRAM = (
    "import importlib.util, sys\n"
    "try:\n"
    "    found = importlib.util.find_spec(sys.argv[1]) is not None\n"
    "except ModuleNotFoundError:\n"
    "    found = False\n"
    "sys.exit(0 if found else 3)\n"
)
# Only what was found is remembered: what was missing may be installed any moment.
_found: set[tuple[str, ...]] = set()
_lock = threading.Lock()


def check(subject: Subject) -> list[PreflightResult]:
    command = subject.command
    if command.script is not None:
        return [_check_script(Path(command.script))]
    if command.module is None:
        return []
    entry = command.entry
    if entry is not None and entry.error:
        return [_failed(f"The worker {entry.name!r} cannot be used: {entry.error}", entry.source)]
    if entry is not None and entry.python == command.python:
        # It has described itself in this very interpreter.
        return [PreflightResult(CHECK, True, f"{entry.name} is installed ({entry.source})")]
    if not subject.may_be_tried:
        # To look for a module is to import the packages that it is in.
        return [PreflightResult(CHECK, True, "it is not looked for before it is confirmed")]
    return [_check_module(command.python, command.module, command.path_dirs)]


def _check_script(script: Path) -> PreflightResult:
    if script.is_file() and os.access(script, os.R_OK):
        return PreflightResult(CHECK, True, f"{script} exists")
    return PreflightResult(
        CHECK,
        False,
        f"The script {script} does not exist or cannot be read",
        "check metadata.worker.script; the path counts on the daemon's machine",
        error=ConfigError,
        details={"field": "metadata.worker.script"},
    )


def _check_module(python: str, module: str, path_dirs: tuple[str, ...]) -> PreflightResult:
    key = (python, module, *path_dirs)
    with _lock:
        is_known = key in _found
    if not is_known:
        problem = _look_for(python, module, path_dirs)
        if problem:
            return _failed(problem, f"install it: {python} -m pip install …")
        with _lock:
            _found.add(key)
    return PreflightResult(CHECK, True, f"{python} finds the module {module}")


def _look_for(python: str, module: str, path_dirs: tuple[str, ...]) -> str:
    environment = inherited_environment(os.environ)
    environment["PYTHONPATH"] = joined_path(*path_dirs)
    environment["PYTHONSAFEPATH"] = "1"  # not what happens to lie where the daemon was started
    try:
        answer = run_probe([python, "-c", _PROGRAM, module], environment, FIND_TIMEOUT_S)
    except OSError as error:
        return f"{python} cannot be started: {error.strerror}"
    if answer.returncode == 0:
        return ""
    if answer.returncode == 3:
        return f"The module {module!r} is not installed for {_named(python)}"
    if answer.returncode is None:
        return f"Looking for the module {module!r} took longer than {FIND_TIMEOUT_S:.0f} s"
    return f"The module {module!r} cannot be imported: {answer.complaint}"


def _named(python: str) -> str:
    return "the daemon's Python" if python == sys.executable else python


def _failed(message: str, fix: str) -> PreflightResult:
    return PreflightResult(CHECK, False, message, fix, error=DependencyError)
