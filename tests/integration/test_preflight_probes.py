"""Pre-flight checks that ask real interpreters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.launch.command import resolve_command
from mosaic.daemon.preflight import checks
from mosaic.daemon.preflight.checks import Subject
from mosaic.daemon.workers.interpreters import run_probe
from mosaic.errors import DependencyError, InterpreterError
from mosaic.paths import Home
from mosaic.processes import stat_fields
from tests.waiting import wait_until
from tests.worker_samples import KnownWorkers, submission

# The same Python under another name, so that it counts as another interpreter than the daemon's.
OTHER_PYTHON = "/proc/self/exe"


def subject(tmp_path: Path, python: str = sys.executable, **fields: Any) -> Subject:
    workers = KnownWorkers()
    workers.python, workers.sdk_dir = sys.executable, str(tmp_path)
    config = submission(python, **fields)
    return Subject(config, resolve_command(config, workers), Capacity(4, 8000), Home(tmp_path))


def test_a_module_that_is_there_is_found(tmp_path: Path) -> None:
    (result,) = checks.check_worker_import(subject(tmp_path, worker={"module": "json.tool"}))
    assert result.ok


@pytest.mark.parametrize("module", ["no_such_module_at_all", "json.no_such", "no_such.cli"])
def test_a_missing_module_is_named_with_its_interpreter(tmp_path: Path, module: str) -> None:
    (result,) = checks.check_worker_import(subject(tmp_path, worker={"module": module}))
    assert result.is_fatal and result.error is DependencyError
    assert module in result.message and "the daemon's Python" in result.message
    assert "pip install" in result.fix


def test_a_module_installed_meanwhile_is_found_and_then_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = subject(tmp_path, OTHER_PYTHON, worker={"module": "fresh_module"})
    assert checks.check_worker_import(about)[0].is_fatal
    (tmp_path / "fresh_module.py").write_text("")
    assert checks.check_worker_import(about)[0].ok
    monkeypatch.setattr(checks, "run_probe", None)
    assert checks.check_worker_import(about)[0].ok


def test_a_module_that_breaks_on_import_is_explained(tmp_path: Path) -> None:
    package = tmp_path / "breaks"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('no licence')")
    about = subject(tmp_path, OTHER_PYTHON, worker={"module": "breaks.cli"})
    (result,) = checks.check_worker_import(about)
    assert result.is_fatal and "no licence" in result.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("#!/bin/sh\necho hello\n", "not a Python interpreter"),
        ("#!/bin/sh\necho broken >&2\nexit 3\n", "broken"),
        ("#!/no/such/interpreter\n", "cannot be started"),
    ],
)
def test_something_else_than_python_is_refused(tmp_path: Path, content: str, said: str) -> None:
    program = tmp_path / "python"
    program.write_text(content)
    program.chmod(0o755)
    (result,) = checks.check_interpreter(
        subject(tmp_path, str(program), worker={"module": "x.cli"})
    )
    assert result.is_fatal and result.error is InterpreterError
    assert said in result.message


def test_an_old_python_is_refused_for_workers_only(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho python 3 8 1\n")
    program.chmod(0o755)
    (result,) = checks.check_interpreter(
        subject(tmp_path, str(program), worker={"module": "x.cli"})
    )
    assert result.is_fatal and "3.8.1" in result.message
    (result,) = checks.check_interpreter(subject(tmp_path, str(program), arguments=["train.py"]))
    assert result.ok


def test_a_probe_that_hangs_is_killed_with_all_it_started(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {marker}; wait"
    answer = run_probe(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, timeout_s=0.5)
    assert answer.returncode is None
    pid = int(marker.read_text())
    wait_until(lambda: (stat_fields(pid) or "Z")[0] == "Z", what="the grandchild's end")
