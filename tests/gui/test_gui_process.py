"""`mosaic gui` as a process of its own: how it starts, how it ends, and on a real X server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mosaic.gui.display import find_obstacle
from tests.daemon_harness import DaemonHarness
from tests.waiting import wait_until

COMMAND = [sys.executable, "-m", "mosaic.cli", "--home"]
START_S = 60


def variables(**changes: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MOSAIC_")}
    return {**kept, "QT_QPA_PLATFORM": "offscreen", **changes}


def test_it_opens_a_window_and_says_so(daemon: DaemonHarness) -> None:
    result = subprocess.run(
        [*COMMAND, str(daemon.home.root), "gui", "--exit-when-shown"],
        env=variables(),
        capture_output=True,
        text=True,
        timeout=START_S,
    )
    assert (result.returncode, result.stdout) == (0, "shown\n"), result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_closes_the_window_and_keeps_its_place(
    daemon: DaemonHarness, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [*COMMAND, str(daemon.home.root), "gui"], env=variables(), stderr=subprocess.PIPE
    ) as process:
        killer = threading.Timer(START_S, process.kill)
        killer.start()
        wait_until(lambda: _is_shown(daemon), START_S, "the window to be shown")
        process.send_signal(number)
        assert process.wait(START_S) == 0
        killer.cancel()
        assert process.stderr is not None and b"Traceback" not in process.stderr.read()
    assert (daemon.home.root / "gui" / "workbench.ini").exists()


def _is_shown(daemon: DaemonHarness) -> bool:
    text = daemon.home.workbench_log.read_text() if daemon.home.workbench_log.exists() else ""
    return "workbench.shown" in text


def test_on_a_real_screen_it_opens_or_says_which_packages_are_missing(
    daemon: DaemonHarness, x_server: str
) -> None:
    environ = variables(DISPLAY=x_server, QT_QPA_PLATFORM="xcb")
    obstacle = find_obstacle(environ)
    result = subprocess.run(
        [*COMMAND, str(daemon.home.root), "gui", "--exit-when-shown"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=START_S,
    )
    if obstacle is None:
        assert (result.returncode, result.stdout) == (0, "shown\n"), result.stderr
    else:
        assert result.returncode > 0, "it must not be ended by a signal"
        assert "apt-get install" in result.stderr
        assert "Traceback" not in result.stderr
        pytest.skip(f"only the message was seen: {obstacle.message}")


def test_a_screen_that_is_not_there_is_said(tmp_path: Path) -> None:
    environ = variables(DISPLAY=":4242", QT_QPA_PLATFORM="xcb")
    result = subprocess.run(
        [*COMMAND, str(tmp_path), "gui"], env=environ, capture_output=True, text=True, timeout=60
    )
    assert result.returncode > 0
    assert "Traceback" not in result.stderr
    assert "does not answer" in result.stderr or "apt-get install" in result.stderr
