"""What an imported run, or a config from somewhere, says is data: nothing of it runs unasked."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.imported_runs import CARTPOLE, imported_run, watched_config, with_recording
from tests.integration.test_cli import Terminal


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def mosaic(daemon: DaemonHarness) -> Terminal:
    return Terminal(daemon.environment)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


def planted_module(folder: Path, name: str, canary: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(f"open({str(canary)!r}, 'w').close()\n")


def test_a_recording_that_names_a_function_calls_it_not(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    hostile = {
        **CARTPOLE,
        "env_id": "Hostile-v0",
        "entry_point": "os:system",
        "kwargs": {"command": f"touch {canary}"},
    }
    run_id = imported_run(daemon, config=watched_config(tmp_path), spoil=with_recording(hostile))
    said = mosaic.run("replay", run_id, "--episode", "0", "--verify", status=5)
    assert not canary.exists()
    assert "os:system" in said


def test_a_recording_that_names_an_interpreter_starts_it_not(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\ntouch {canary}\nexec {sys.executable} \"$@\"\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    run_id = imported_run(
        daemon,
        config=watched_config(tmp_path),
        spoil=with_recording(CARTPOLE, python=str(python)),
    )
    mosaic.run("replay", run_id, "--episode", "0", "--verify")
    assert not canary.exists()


def test_a_recording_that_names_a_folder_imports_nothing_from_it(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    planted_module(tmp_path / "code", "sitecustomize", canary)
    run_id = imported_run(
        daemon,
        config=watched_config(tmp_path),
        spoil=with_recording(CARTPOLE, folder=str(tmp_path / "code")),
    )
    mosaic.run("replay", run_id, "--episode", "0", "--verify")
    assert not canary.exists()


def test_variables_that_run_something_are_asked_about(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    document = run_document(
        environment={
            "PYTHONWARNINGS": "all:0:antigravity.x:0:0",
            "BROWSER": f"/bin/sh -c 'touch {canary}' #%s",
        }
    )
    file = tmp_path / "config.json"
    file.write_text(json.dumps(document))
    said = mosaic.run("submit", str(file), "--wait", status=5)
    assert not canary.exists()
    assert "BROWSER" in said and f"touch {canary}" in said and "--yes" in said


def test_an_environment_that_names_a_module_is_asked_about(
    daemon: DaemonHarness, mosaic: Terminal, canary: Path, tmp_path: Path
) -> None:
    planted_module(tmp_path / "code", "planted", canary)
    document = run_document(
        environment={"PYTHONPATH": str(tmp_path / "code")},
        config={"env_id": "planted:CartPole-v1"},
    )
    file = tmp_path / "config.json"
    file.write_text(json.dumps(document))
    said = mosaic.run("submit", str(file), "--wait", status=5)
    assert not canary.exists()
    assert "planted" in said
