"""The window comes back where it was, however it ended."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

pytest.importorskip("torch")

from mosaic.gui.application import Application
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.test_gui_process import START_S, variables
from tests.gui.workflow_steps import train_quickly, wait_trained
from tests.waiting import wait_until

SECRET = "correct-horse-battery-staple"


@contextmanager
def window(daemon: DaemonHarness, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.gui.window_session_program", str(daemon.home.root)]
    with subprocess.Popen(
        [*command, *words], env=variables(), stdout=subprocess.PIPE, text=True
    ) as process:
        killer = threading.Timer(START_S, process.kill)
        killer.start()
        try:
            yield process
        finally:
            killer.cancel()
            process.kill()


def place(process: subprocess.Popen[str], is_wanted: Callable[[dict[str, Any]], bool]) -> Any:
    """The first that is wanted; the last one where none is, so that a test can say what it was."""
    found: dict[str, Any] = {}
    assert process.stdout is not None
    for line in process.stdout:
        found = json.loads(line)
        if is_wanted(found):
            break
    return found


def test_a_killed_window_comes_back_where_it_was(daemon: DaemonHarness) -> None:
    older = wait_trained(daemon, train_quickly(daemon))
    wait_trained(daemon, train_quickly(daemon, seed=2))
    file = daemon.home.root / "gui" / "session.json"
    settings = daemon.home.root / "gui" / "workbench.ini"
    with window(daemon, older) as process:
        left = place(process, lambda found: found["tab"] == "checkpoints")
        assert left["page"] == "replay" and left["values"]["total_timesteps"] == 123_456
        wait_until(lambda: file.exists() and "123456" in file.read_text(), START_S, "it to be kept")
        wait_until(
            lambda: settings.exists() and "checkpoints" in settings.read_text(), START_S, "the tab"
        )
        process.kill()
        process.wait()
    assert SECRET not in file.read_text() and SECRET not in settings.read_text()
    with window(daemon) as process:
        found = place(process, lambda found: found["tab"] == left["tab"])
    assert {name: found[name] for name in found if name != "has_secret"} == {
        name: left[name] for name in left if name != "has_secret"
    }
    assert found["selection"] == [older] and not found["has_secret"] and not found["notices"]


def test_a_damaged_file_is_set_aside_with_a_notice(
    qtbot: QtBot, daemon: DaemonHarness, open_application: Callable[[Home], Application]
) -> None:
    folder = daemon.home.root / "gui"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "session.json").write_text('{"launch": {"worker"')
    application = open_application(daemon.home)
    told: list[str] = []
    application.state.said.connect(lambda notice: told.append(notice.text))
    application.start()
    assert "session.damaged.json" in told[0]
    assert (folder / "session.damaged.json").read_text() == '{"launch": {"worker"'
    panel = application.window.launch_panel
    qtbot.waitUntil(panel.footer.button.isEnabled, timeout=WAIT_MS)
    panel.form.form.set("total_timesteps", "777")
    qtbot.waitUntil(
        lambda: (
            "777" in (folder / "session.json").read_text()
            if (folder / "session.json").exists()
            else False
        ),
        timeout=WAIT_MS,
    )


def test_damaged_settings_are_set_aside_too(
    daemon: DaemonHarness, open_application: Callable[[Home], Application]
) -> None:
    folder = daemon.home.root / "gui"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "workbench.ini").write_bytes(b"\0\xff no settings\n[[[")
    application = open_application(daemon.home)
    told: list[str] = []
    application.state.said.connect(lambda notice: told.append(notice.text))
    application.start()
    assert "workbench.damaged.ini" in told[0]
    assert (folder / "workbench.damaged.ini").read_bytes().startswith(b"\0\xff")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"launch": 3, "view": []}',
        '{"launch": {"mode": "flying", "worker": 3, "forms": [7, {"worker": [], "operation": 1}], '
        '"operations": {"a": "b"}}, "view": {"selection": "x", "page": 9, "replay": [1]}}',
        '{"launch": {"forms": [{"worker": "cleanrl", "operation": "train", "values": '
        '{"algo": "gone", "total_timesteps": {"a": 1}, "nonsense": 1}, '
        '"policy": {"checkpoint": 4}}]}}',
    ],
)
def test_nothing_in_the_file_keeps_the_window_from_opening(
    text: str, qtbot: QtBot, daemon: DaemonHarness, open_application: Callable[[Home], Application]
) -> None:
    folder = daemon.home.root / "gui"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "session.json").write_text(text)
    application = open_application(daemon.home)
    application.start()
    button = application.window.launch_panel.footer.button
    qtbot.waitUntil(button.isEnabled, timeout=WAIT_MS)
    assert button.text() == "Train"
