"""The window asks before it runs what did not come with this installation."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.consent import Consent
from mosaic.contracts.run_record import Origin
from mosaic.gui.application import Application
from mosaic.gui.state.notices import ConsentQuestion
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import ReplayTarget
from tests.daemon_harness import DaemonHarness, run_document
from tests.gui.conftest import WAIT_MS
from tests.gui.test_runs_actions import selected, trigger
from tests.imported_runs import CARTPOLE, imported_run, watched_config, with_recording


def question(answers: list[str], name: str = "a run") -> ConsentQuestion:
    return ConsentQuestion(
        name,
        Consent((f"command: {name}", "variable: <b>PATH</b>=/x")),
        lambda: answers.append(f"{name}: yes"),
        lambda: answers.append(f"{name}: no"),
    )


def test_it_shows_the_exact_lines_and_anything_but_a_yes_is_a_no(
    qtbot: QtBot, lonely: Application
) -> None:
    overlay, answers = lonely.window.consent_overlay, list[str]()
    for close in (
        lambda: qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape),
        lambda: qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space),
        lambda: qtbot.mouseClick(overlay, Qt.MouseButton.LeftButton, pos=QPoint(5, 5)),
        overlay.no.click,
    ):
        lonely.state.ask_consent(question(answers))
        assert overlay.isVisible() and overlay.no.hasFocus()
        assert overlay.lines.toPlainText() == "command: a run\nvariable: <b>PATH</b>=/x"
        close()
        assert not overlay.isVisible()
    assert answers == ["a run: no"] * 4
    lonely.state.ask_consent(question(answers))
    overlay.yes.click()
    assert answers[4:] == ["a run: yes"] and not overlay.isVisible()


def test_a_second_question_waits_for_the_first(lonely: Application) -> None:
    overlay, answers = lonely.window.consent_overlay, list[str]()
    lonely.state.ask_consent(question(answers, "first"))
    lonely.state.ask_consent(question(answers, "second"))
    assert "first" in overlay.title.text()
    overlay.yes.click()
    assert overlay.isVisible() and "second" in overlay.title.text()
    overlay.no.click()
    assert answers == ["first: yes", "second: no"] and not overlay.isVisible()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


def test_an_imported_run_is_not_submitted_again_unasked(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, canary: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"open({str(canary)!r}, 'w').close()\n")
    hostile = run_document(run_name="hostile", environment={"PYTHONPATH": str(tmp_path)})
    run_id = imported_run(daemon, config=hostile)
    selected(qtbot, application, run_id, is_over=True)
    overlay, state = application.window.consent_overlay, application.state
    trigger(application, RunAction.RESUBMIT)
    qtbot.waitUntil(overlay.isVisible, timeout=WAIT_MS)
    assert f"PYTHONPATH={tmp_path}" in overlay.lines.toPlainText()
    overlay.no.click()
    found = application.window.snackbar.notice
    assert found is not None and "Nothing was started" in found.text
    assert [run.run_id for run in daemon.client.list_runs()] == [run_id] and not canary.exists()
    trigger(application, RunAction.RESUBMIT)
    qtbot.waitUntil(overlay.isVisible, timeout=WAIT_MS)
    overlay.yes.click()
    qtbot.waitUntil(lambda: state.leading_id not in ("", run_id), timeout=WAIT_MS)
    again = daemon.wait_over(state.leading_id)
    assert again.origin is Origin.HERE and canary.exists()
    assert len(daemon.client.list_runs()) == 2


def test_an_imported_recording_is_not_simulated_unasked(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, canary: Path, tmp_path: Path
) -> None:
    hostile = {
        **CARTPOLE,
        "env_id": "Hostile-v0",
        "entry_point": "os:system",
        "kwargs": {"command": f"touch {canary}"},
    }
    run_id = imported_run(daemon, config=watched_config(tmp_path), spoil=with_recording(hostile))
    selected(qtbot, application, run_id, is_over=True)
    overlay = application.window.consent_overlay
    application.state.show_replay(ReplayTarget(run_id, 0))
    qtbot.waitUntil(overlay.isVisible, timeout=WAIT_MS)
    assert "calls: os:system" in overlay.lines.toPlainText()
    overlay.no.click()
    assert not overlay.isVisible() and not canary.exists()
    application.state.show_replay(ReplayTarget(run_id, 0))
    qtbot.waitUntil(overlay.isVisible, timeout=WAIT_MS)
    overlay.yes.click()
    qtbot.waitUntil(canary.exists, timeout=WAIT_MS)
