"""What is done with runs, with a real daemon."""

from __future__ import annotations

import zipfile
from pathlib import Path

from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_state import Outcome
from mosaic.gui.application import Application
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import FormTarget, Operation
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS


def trigger(application: Application, action: RunAction) -> None:
    command = application.workbench.commands[action.value]
    assert command.isEnabled(), command.toolTip()
    command.trigger()


def selected(qtbot: QtBot, application: Application, run_id: str, is_over: bool) -> None:
    runs = application.state.runs

    def is_there() -> bool:
        record = runs.get(run_id)
        return record is not None and record.is_over == is_over

    qtbot.waitUntil(is_there, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: bool(application.state.workers), timeout=WAIT_MS)
    application.state.select((run_id,))


def test_deleted_runs_come_back_with_undo(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    state, heard = application.state, list[Notice]()
    run_id = daemon.submit()
    selected(qtbot, application, run_id, is_over=True)

    def hear(notice: Notice) -> None:
        heard.append(notice)

    state.said.connect(hear)
    trigger(application, RunAction.PIN)
    qtbot.waitUntil(
        lambda: (found := state.runs.get(run_id)) is not None and found.pinned, timeout=WAIT_MS
    )
    trigger(application, RunAction.DELETE)
    # A list of all runs may lack it before it is said that it was deleted.
    qtbot.waitUntil(lambda: heard[-1].text == "1 run deleted", timeout=WAIT_MS)
    assert run_id not in state.runs and not state.selection
    undo = heard[-1]
    assert undo.action_text == "Undo" and undo.action is not None and undo.seconds == 10
    undo.action()
    # It may be news of the daemon before the answer that selects it is here.
    qtbot.waitUntil(lambda: state.selection == (run_id,), timeout=WAIT_MS)
    assert run_id in state.runs


def test_a_run_is_stopped_and_submitted_again(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    state = application.state
    run_id = daemon.submit(config={"episodes": 1_000_000})
    selected(qtbot, application, run_id, is_over=False)
    daemon.wait_for(run_id, "EXEC")
    trigger(application, RunAction.STOP_WITH_REASON)
    popup = application.window.runs_panel.commands.stop_reason
    popup.line.setText("seen enough")
    popup.button.click()
    daemon.wait_over(run_id)
    selected(qtbot, application, run_id, is_over=True)
    assert daemon.client.get_run(run_id).outcome is Outcome.CANCELED
    trigger(application, RunAction.RESUBMIT)
    qtbot.waitUntil(lambda: state.leading_id not in ("", run_id), timeout=WAIT_MS)
    again = daemon.client.get_run(state.leading_id)
    assert again.config == daemon.client.get_run(run_id).config
    trigger(application, RunAction.STOP)
    daemon.wait_over(again.run_id)


def test_a_run_is_archived_exported_and_opened_in_the_form(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    state, forms = application.state, []
    run_id = daemon.submit()
    selected(qtbot, application, run_id, is_over=True)
    archive = tmp_path / "run.mosaic.zip"
    application.workbench.run_actions.archive(run_id, archive)
    qtbot.waitUntil(archive.exists, timeout=WAIT_MS)
    assert zipfile.is_zipfile(archive)
    folder = tmp_path / "tables"
    application.workbench.run_actions.export(run_id, "csv", folder)
    qtbot.waitUntil(lambda: any(folder.glob("*.csv")), timeout=WAIT_MS)

    def asked(target: FormTarget) -> None:
        forms.append(target)

    state.form_asked.connect(asked)
    trigger(application, RunAction.EDIT)
    qtbot.waitUntil(lambda: bool(forms), timeout=WAIT_MS)
    assert forms[0].operation is Operation.TRAIN
    assert forms[0].values["env_id"] == "CartPole-v1"
    trigger(application, RunAction.COPY_COMMAND)
    qtbot.waitUntil(
        lambda: QGuiApplication.clipboard().text().startswith("mosaic "), timeout=WAIT_MS
    )
    assert f"submit {daemon.home.config(run_id)}" in QGuiApplication.clipboard().text()
