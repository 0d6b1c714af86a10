"""The log of the leading run: followed, filtered and searched."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mosaic.errors import RequestError
from mosaic.gui.application import Application
from mosaic.gui.runs.log_drawer import LogDrawer
from mosaic.gui.runs.model.logs import MOST_LINES
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.state.workbench_state import Connection
from mosaic.wire.answers import LogChunk
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.run_samples import over, record


@pytest.fixture
def drawer(lonely: Application) -> LogDrawer:
    """Open, of a run whose lines come from the test."""
    lonely.state.set_connection(Connection.ONLINE)
    lonely.state.runs.load([record(1), over(2)])
    lonely.window.runs_panel.show_logs(True)
    found = lonely.window.runs_panel.log_drawer
    lonely.state.select((record(1).run_id,))
    return found


def feed(drawer: LogDrawer, data: bytes, stream: str = "stdout") -> None:
    drawer.take_chunks([LogChunk(stream, data)])


def lines(drawer: LogDrawer) -> list[str]:
    return drawer.view.toPlainText().split("\n")


def test_both_streams_are_shown_and_can_be_told_apart(drawer: LogDrawer) -> None:
    feed(drawer, b"hello\n")
    feed(drawer, b"\x1b[31mbad\x1b[0m\n", "stderr")
    assert lines(drawer) == ["hello", "bad"]
    first, second = drawer.view.document().firstBlock(), drawer.view.document().lastBlock()
    colours = [
        block.begin().fragment().charFormat().foreground().color() for block in (first, second)
    ]
    assert colours[0] != colours[1]
    drawer.streams.button("stderr").click()
    assert lines(drawer) == ["bad"]


def test_the_end_is_followed_until_somebody_scrolls_up(qtbot: QtBot, drawer: LogDrawer) -> None:
    bar = drawer.view.verticalScrollBar()
    feed(drawer, b"line\n" * 200)
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum(), timeout=WAIT_MS)
    bar.setValue(3)
    assert not drawer.follow_button.isChecked()
    feed(drawer, b"line\n" * 50)
    assert bar.value() == 3
    bar.setValue(bar.maximum())
    assert drawer.follow_button.isChecked()
    bar.setValue(3)
    drawer.follow_button.click()
    assert bar.value() == bar.maximum()


def test_no_more_is_kept_than_can_be_read_and_that_is_said(drawer: LogDrawer) -> None:
    feed(drawer, b"".join(b"line %d\n" % number for number in range(17_345)))
    assert drawer.view.blockCount() == MOST_LINES
    assert lines(drawer)[-1] == "line 17344"
    assert "12,345 earlier lines" in drawer.status


def test_a_flood_is_shown_to_its_last_line(drawer: LogDrawer) -> None:
    """Ten seconds of 5,000 lines a second, in tenths of a second."""
    for tenth in range(100):
        feed(drawer, b"".join(b"step %d loss 0.123\n" % (tenth * 500 + i) for i in range(500)))
    assert drawer.view.blockCount() == MOST_LINES
    assert lines(drawer)[-1] == "step 49999 loss 0.123"


def test_typing_filters_what_is_there_and_what_comes(drawer: LogDrawer) -> None:
    feed(drawer, b"loss 1\nother\n")
    drawer.field.setText("LOSS")
    assert lines(drawer) == ["loss 1"]
    feed(drawer, b"more\nloss 2\n")
    assert lines(drawer) == ["loss 1", "loss 2"]
    assert drawer.status == "2 lines with “LOSS”"
    drawer.field.clear()
    assert lines(drawer) == ["loss 1", "other", "more", "loss 2"]


def test_a_bad_expression_is_told_and_nothing_is_searched(drawer: LogDrawer) -> None:
    feed(drawer, b"a\n")
    drawer.field.setText("/(/")
    assert drawer.status.startswith("This is no regular expression")
    assert drawer.field.property("invalid") is True
    drawer.search()
    assert lines(drawer) == ["a"]
    drawer.field.setText("a")
    assert drawer.field.property("invalid") is False


def test_another_run_has_another_log(lonely: Application, drawer: LogDrawer) -> None:
    feed(drawer, b"mine\n")
    lonely.state.select((over(2).run_id,))
    assert lines(drawer) == [""]
    lonely.state.select(())
    assert drawer.status == "Select a run to see its log"


def test_the_log_is_copied(drawer: LogDrawer) -> None:
    feed(drawer, b"one\ntwo\n")
    drawer.copy_button.click()
    assert QGuiApplication.clipboard().text() == "one\ntwo"


def test_ctrl_l_opens_and_closes(qtbot: QtBot, lonely: Application) -> None:
    panel = lonely.window.runs_panel
    command = lonely.workbench.commands["view.logs"]
    assert command.shortcut().toString() == "Ctrl+L"
    command.trigger()
    assert panel.log_drawer.isVisible() and panel.logs_button.isChecked()
    panel.logs_button.click()
    assert not panel.log_drawer.isVisible() and not panel.logs_button.isChecked()


def test_a_run_that_ended_without_a_word_is_told_from_one_that_may_still_speak(
    lonely: Application, drawer: LogDrawer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[Callable[[], None]] = []

    def follow(stream: object, arrived: object, ended: Callable[[], None], failed: object) -> Task:
        ends.append(ended)
        task = Task()
        task.begin(Future())
        return task

    monkeypatch.setattr(lonely.bridge, "follow", follow)
    lonely.state.select((over(2).run_id,))
    assert drawer.status == "Nothing printed so far"
    ends[0]()
    assert drawer.status == "This run has printed nothing"
    lonely.state.select((record(1).run_id,))
    assert drawer.status == "Nothing printed so far"


def test_a_real_run_is_followed_and_searched(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    code = (
        "import sys, time\n"
        "for number in range(3000): print('line', number)\n"
        "print('oh no', file=sys.stderr, flush=True)\n"
        "sys.stdout.flush()\n"
        "time.sleep(1)\n"
        "print('the end', flush=True)\n"
    )
    run_id = daemon.submit(entry_point="/usr/bin/python3", arguments=["-c", code])
    state, panel = application.state, application.window.runs_panel
    qtbot.waitUntil(lambda: run_id in state.runs, timeout=WAIT_MS)
    state.select((run_id,))
    panel.show_logs(True)
    drawer = panel.log_drawer
    qtbot.waitUntil(lambda: "the end" in lines(drawer), timeout=WAIT_MS)
    assert "oh no" in lines(drawer) and "line 2999" in lines(drawer)
    drawer.field.setText("/line 1?7$/")
    QTest.keyClick(drawer.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "2 lines of the whole log" in drawer.status, timeout=WAIT_MS)
    assert [line.split(maxsplit=1)[1] for line in lines(drawer)] == ["line 7", "line 17"]
    QTest.keyClick(drawer.field, Qt.Key.Key_Escape)
    assert drawer.field.text() == "" and "line 2999" in lines(drawer)


def test_a_log_that_cannot_be_read_says_why(drawer: LogDrawer) -> None:
    drawer.tell_failure(RequestError("There is no run of this id"))
    assert drawer.status == "There is no run of this id"
