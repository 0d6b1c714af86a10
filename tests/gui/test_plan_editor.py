"""The plan editor: typed into, saved, closed, and told what a checker says, whatever that is."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from mosaic.contracts.agents import AgentsSupport
from mosaic.contracts.bundles import InstallRequest, VenvState
from mosaic.contracts.options import option_text
from mosaic.front.plan_check import MOST_BYTES
from mosaic.gui.application import Application
from mosaic.gui.forms.field_editors import PlanPathEditor
from mosaic.gui.forms.model.fields import FieldKind, field_of
from mosaic.gui.forms.model.form_state import FormState
from mosaic.gui.forms.schema_form import SchemaForm
from mosaic.gui.plans.editor import PlanEditor
from mosaic.gui.plans.model.target import PlanTarget
from mosaic.gui.state.workbench_state import Connection
from mosaic.worker import option
from tests.gui.conftest import WAIT_MS
from tests.gui.cut_off import cut_off
from tests.gui.held_answers import HeldAnswers
from tests.unit.gui.bundle_samples import info
from tests.unit.gui.plans.test_checking import worker_of
from tests.unit.gui.run_samples import over, record

# In place of an interpreter: what it says depends on what the plan holds.
PROGRAM = """#!{python}
import json, os, sys, time
text = sys.stdin.read()
with open({log!r}, "a") as log:
    log.write(sys.argv[-1] + "\\n")
if "HANG" in text:
    time.sleep(3600)
if "GARBAGE" in text:
    print("garbage"); sys.exit(3)
problems = []
for number, line in enumerate(text.split("\\n"), 1):
    for word, is_error in (("bad", True), ("odd", False)):
        if word in line:
            problems.append(dict(line=number, column=line.index(word) + 1,
                                 message="<b>" + word + "</b>", is_error=is_error))
print(json.dumps(dict(ok=not any(found["is_error"] for found in problems), problems=problems)))
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "checks"


@pytest.fixture
def editor(tmp_path: Path, log: Path, lonely: Application) -> Iterator[PlanEditor]:
    """With a worker that is beside MOSAIC, and has that program as its interpreter."""
    path = tmp_path / "interpreter"
    path.write_text(PROGRAM.format(python=sys.executable, log=str(log)))
    path.chmod(0o700)
    made = dataclasses.replace(worker_of(), python=str(path))
    support = AgentsSupport(plan_roles=("learner", "coach"), plan_checker="worker.plans")
    assert made.capabilities is not None
    capabilities = dataclasses.replace(made.capabilities, agents=support)
    lonely.state.set_workers([dataclasses.replace(made, capabilities=capabilities)])
    lonely.state.bundles.set_listed([info(state=VenvState.PRESENT)])
    made_editor = PlanEditor(lonely.workbench)
    yield made_editor
    made_editor._close_anyway()  # whatever a test that failed has left there


TARGET = PlanTarget("Learner's plans", "sample", "learner", template="!shipped.")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.asl"
    path.write_text("!live.\n+!live <- bad(1).\n")
    return path


def opened(qtbot: QtBot, editor: PlanEditor, path: Path) -> list[str]:
    """Returns where the paths of what is saved arrive."""
    saved: list[str] = []
    editor.open_for_file(TARGET, str(path), saved.append)
    qtbot.waitUntil(lambda: editor.view.text == path.read_text(), timeout=WAIT_MS)
    return saved


def says(qtbot: QtBot, editor: PlanEditor, text: str) -> None:
    qtbot.waitUntil(lambda: editor.status.text() == text, timeout=WAIT_MS)


def discard(editor: PlanEditor) -> None:
    button(editor, "Discard").click()


def button(editor: PlanEditor, text: str) -> QPushButton:
    (found,) = (item for item in editor.question.buttons if item.text() == text)
    return found


def test_what_is_wrong_is_told_while_one_types(
    qtbot: QtBot, editor: PlanEditor, mine: Path
) -> None:
    opened(qtbot, editor, mine)
    says(qtbot, editor, "1 error")
    (row,) = (editor.problem_list.item(0),)
    assert row.text() == "Error · line 2, column 11: <b>bad</b>", "shown as it is"
    assert editor.view.problem_at(2) is not None and len(editor.view.extraSelections()) == 1
    editor.view.setFocus()
    qtbot.keyClicks(editor.view, "odd. ")
    says(qtbot, editor, "1 error, 1 warning")
    assert editor.problem_list.item(0).text().startswith("Warning · line 1, column 1")
    editor.problem_list.setCurrentRow(1)
    qtbot.keyClick(editor.problem_list, Qt.Key.Key_Return)
    cursor = editor.view.textCursor()
    assert (cursor.blockNumber() + 1, cursor.positionInBlock() + 1) == (2, 11)
    assert editor.place.text() == "line 2, column 11"
    editor.view.show_text("fine.")
    says(qtbot, editor, "No problems")
    assert editor.problem_list.isHidden() and not editor.view.extraSelections()
    editor.close()
    discard(editor)


def test_a_check_that_hangs_gives_way_to_the_next(
    qtbot: QtBot, editor: PlanEditor, mine: Path, log: Path
) -> None:
    opened(qtbot, editor, mine)
    says(qtbot, editor, "1 error")
    editor.view.show_text("HANG")
    qtbot.waitUntil(lambda: log.read_text().count("\n") == 2, timeout=WAIT_MS)
    assert editor.status.text() == "Checking…"
    for text in ("HANG 2", "odd 1", "odd 2"):
        editor.view.show_text(text)
    says(qtbot, editor, "1 warning")
    assert log.read_text().split("\n")[0] == "learner", "it is checked for its role"
    editor.view.show_text("HANG again")
    qtbot.waitUntil(lambda: editor.checker._check is not None, timeout=WAIT_MS)
    editor.close()
    discard(editor)
    qtbot.waitUntil(lambda: editor.checker._check is None, timeout=WAIT_MS)


def test_a_checker_that_answers_nonsense_becomes_a_sentence(
    qtbot: QtBot, editor: PlanEditor, mine: Path
) -> None:
    mine.write_text("GARBAGE")
    opened(qtbot, editor, mine)
    says(qtbot, editor, "The checker of plans ended with 3 and gave no answer")
    assert editor.problem_list.isHidden()


def test_what_is_saved_is_what_the_form_gets(qtbot: QtBot, editor: PlanEditor, mine: Path) -> None:
    saved = opened(qtbot, editor, mine)
    editor.view.setFocus()
    qtbot.keyClicks(editor.view, "!more.")
    assert editor.windowTitle().startswith("mine.asl · not saved · Learner's plans")
    qtbot.keyClick(editor.view, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: mine.read_text().startswith("!more.!live."), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not editor.has_changes, timeout=WAIT_MS)
    assert saved[-1] == str(mine)
    assert editor.close() and not editor.isVisible()


def test_a_new_plan_begins_with_the_shipped_one(
    qtbot: QtBot, editor: PlanEditor, tmp_path: Path
) -> None:
    saved: list[str] = []
    editor.open_for_file(TARGET, "", saved.append)
    (action,) = (item for item in editor.menu.actions() if "shipped" in item.text())
    action.trigger()
    assert editor.view.text == "!shipped." and not editor.has_changes
    editor._write(tmp_path / "new.asl")
    qtbot.waitUntil(lambda: saved == [str(tmp_path / "new.asl")], timeout=WAIT_MS)
    assert (tmp_path / "new.asl").read_text() == "!shipped."


def test_a_file_that_is_not_there_yet_is_begun(
    qtbot: QtBot, editor: PlanEditor, tmp_path: Path
) -> None:
    editor.open_for_file(TARGET, str(tmp_path / "later.asl"), lambda _: None)
    qtbot.waitUntil(lambda: "is not there yet" in editor.question.text, timeout=WAIT_MS)
    editor.view.show_text("!a.")
    editor.save()
    qtbot.waitUntil((tmp_path / "later.asl").exists, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not editor.has_changes, timeout=WAIT_MS)


def test_what_is_not_saved_is_asked_about(
    qtbot: QtBot, editor: PlanEditor, mine: Path, lonely: Application
) -> None:
    opened(qtbot, editor, mine)
    editor.view.show_text("mine alone")
    assert not editor.close() and editor.isVisible()
    assert editor.question.text == "mine.asl has changes that are not saved"
    button(editor, "Keep editing").click()
    assert editor.isVisible() and editor.view.text == "mine alone"
    assert not lonely.window.close() and lonely.window.isVisible()
    assert editor.question.text == "mine.asl has changes that are not saved"
    button(editor, "Keep editing").click()
    editor.open_for_file(TARGET, "", lambda _: None)
    assert editor.view.text == "mine alone", "nothing is lost before somebody says so"
    button(editor, "Save").click()
    qtbot.waitUntil(lambda: editor.view.text == "", timeout=WAIT_MS)
    assert mine.read_text() == "mine alone"
    editor.view.show_text("other")
    lonely.window.close()
    discard(editor)
    assert not editor.isVisible() and not lonely.window.isVisible()


def test_what_another_program_has_written_is_not_lost(
    qtbot: QtBot, editor: PlanEditor, mine: Path
) -> None:
    opened(qtbot, editor, mine)
    mine.write_text("theirs")
    editor.view.show_text("mine, longer")
    editor.save()
    qtbot.waitUntil(lambda: "changed by another program" in editor.question.text, timeout=WAIT_MS)
    assert mine.read_text() == "theirs"
    button(editor, "Keep this text").click()
    editor.save()
    # Its file is written before the editor hears of it.
    qtbot.waitUntil(lambda: not editor.has_changes, timeout=WAIT_MS)
    assert mine.read_text() == "mine, longer"
    mine.write_text("theirs again")
    editor.save()
    qtbot.waitUntil(lambda: "changed by another program" in editor.question.text, timeout=WAIT_MS)
    button(editor, "Reload").click()
    qtbot.waitUntil(lambda: editor.view.text == "theirs again", timeout=WAIT_MS)
    assert not editor.has_changes


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"a\0b", b"x" * (MOST_BYTES + 1)])
def test_what_is_no_plan_leaves_the_text_as_it_was(
    qtbot: QtBot, editor: PlanEditor, mine: Path, data: bytes
) -> None:
    mine.write_bytes(data)
    editor.open_for_file(TARGET, str(mine), lambda _: None)
    qtbot.waitUntil(lambda: "mine.asl cannot be opened" in editor.question.text, timeout=WAIT_MS)
    assert editor.view.text == "" and editor._document.path is None


def test_too_much_is_not_pasted_and_control_characters_are_no_harm(
    qtbot: QtBot, editor: PlanEditor, mine: Path
) -> None:
    opened(qtbot, editor, mine)
    data = QMimeData()
    data.setText("x" * 1_000_000)
    editor.view.insertFromMimeData(data)
    assert "nothing was pasted" in editor.question.text and editor.view.text == mine.read_text()
    data.setText("a\0\x1b[31m<b>\u00a0\u2028")
    editor.view.insertFromMimeData(data)
    assert editor.view.text.startswith("a\ufffd\x1b[31m<b>\u00a0")
    data.setText("x(" * 60_000)
    editor.view.insertFromMimeData(data)
    editor.grab()
    says(qtbot, editor, "1 error")
    editor.close()
    discard(editor)


def test_keys_indent_and_lead_out_again(qtbot: QtBot, editor: PlanEditor, mine: Path) -> None:
    opened(qtbot, editor, mine)
    says(qtbot, editor, "1 error")
    editor.view.show_text("")
    editor.activateWindow()
    qtbot.waitUntil(editor.isActiveWindow, timeout=WAIT_MS)
    editor.view.setFocus()
    qtbot.keyClick(editor.view, Qt.Key.Key_Tab)
    qtbot.keyClicks(editor.view, "a")
    qtbot.keyClick(editor.view, Qt.Key.Key_Return)
    assert editor.view.text == "    a\n    "
    qtbot.keyClick(editor.view, Qt.Key.Key_Backtab)
    assert not editor.view.hasFocus(), "whoever has no mouse gets out of the text"
    editor.close()
    discard(editor)


def test_what_is_missing_is_offered(
    qtbot: QtBot,
    editor: PlanEditor,
    mine: Path,
    lonely: Application,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted: list[InstallRequest] = []
    monkeypatch.setattr(lonely.workbench.bundles, "install", wanted.append)
    lonely.state.bundles.set_listed([info()])
    opened(qtbot, editor, mine)
    qtbot.waitUntil(editor.install_banner.isVisible, timeout=WAIT_MS)
    assert editor.status.text() == "Plans are not checked: The learner is not installed"
    assert editor.install_banner.button.text() == "Install (212 MB)"
    editor.install_banner.button.click()
    assert wanted == [InstallRequest("learner", most_bytes=212_000_000)]
    lonely.state.bundles.set_listed([info(state=VenvState.PRESENT)])
    says(qtbot, editor, "1 error")
    assert editor.install_banner.isHidden()


def test_a_plan_is_sent_to_an_agent_and_its_answer_shown(
    qtbot: QtBot, editor: PlanEditor, lonely: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record(worker="sample")
    lonely.state.runs.update([run])
    editor.open_for_run(run, (("learner", "learner"), ("ann", "coach")))
    assert not editor.send_button.isEnabled()
    assert editor._send_reason.text() == "Not sent: write a plan first"
    editor.view.show_text("odd.")
    assert editor.send_button.isEnabled() and editor.agents.currentText() == "learner"
    held = HeldAnswers()
    with monkeypatch.context() as patch:
        patch.setattr(lonely.bridge, "ask", held.ask)
        editor.send_button.click()
    assert not editor.send_button.isEnabled() and editor.send_button.text() == "Sending…"
    problem = {"line": 1, "column": 2, "message": "no <i>such</i>", "is_error": True}
    held.answer_all({"ok": False, "text": "the plan is wrong", "problems": [problem]})
    assert editor.status.text() == "Refused: the plan is wrong"
    assert editor.problem_list.item(0).text() == "Error · line 1, column 2: no <i>such</i>"
    says(qtbot, editor, "Refused: the plan is wrong")  # whatever the checker says meanwhile
    editor.view.show_text("fine.")
    with monkeypatch.context() as patch:
        patch.setattr(lonely.bridge, "ask", held.ask)
        editor.send_button.click()
    held.answer_all({"ok": True, "text": "1 plan"})
    assert editor.status.text() == "Accepted: 1 plan"
    assert not editor.has_changes, "it has arrived where it was wanted"
    lonely.state.runs.update([over(worker="sample", revision=2)])
    assert editor._send_reason.text() == "Not sent: the run is over"
    assert not editor.send_button.isEnabled()


@pytest.mark.parametrize("width", [400, 760, 1280])
def test_nothing_is_cut_off(
    qtbot: QtBot, editor: PlanEditor, lonely: Application, width: int
) -> None:
    run = record(worker="sample", run_name="a name too long for any heading " * 4)
    lonely.state.runs.update([run])
    editor.open_for_run(run)
    editor.resize(width, 500)
    editor.view.show_text("bad\nodd")
    says(qtbot, editor, "1 error, 1 warning")
    editor.close()  # with its question
    qtbot.waitUntil(editor.question.isVisible, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not cut_off(editor), timeout=WAIT_MS)
    for name in (lonely.theme.palette.name, "light"):
        lonely.theme.choose(name)
        editor.grab()
    discard(editor)


SCHEMA = {
    "type": ["string", "null"],
    **{"title": "Learner's plans", "x-editor": "plan", "x-role": "learner"},
    "x-template": "!a.",
}


def test_a_field_of_a_plan_can_be_edited(qtbot: QtBot, lonely: Application) -> None:
    field = field_of("plan", SCHEMA)
    assert field.kind is FieldKind.PLAN
    form = FormState([field])
    widget = SchemaForm(form, lonely.theme)
    qtbot.addWidget(widget)
    row = widget.reveal("plan")
    assert row is not None and isinstance(row.editor, PlanPathEditor)
    asked: list[str] = []
    widget.edit_asked.connect(asked.append)
    (edit,) = (
        item
        for item in row.editor.findChildren(type(row.editor._edit))
        if item.accessibleName() == "Edit Learner's plans"
    )
    edit.click()
    assert asked == ["plan"]


def test_the_launch_form_gets_the_path_of_what_was_saved(
    qtbot: QtBot, editor: PlanEditor, lonely: Application, mine: Path, tmp_path: Path
) -> None:
    panel = lonely.window.launch_panel
    lonely.state.set_connection(Connection.ONLINE)
    form = panel.form
    form.form.set_fields([*form.form.fields, field_of("plan", SCHEMA)])
    form.form.set("plan", str(mine))
    panel._on_edit_asked(form, "plan")
    made = panel._plan_editor
    assert made is not None
    qtbot.waitUntil(lambda: made.view.text == mine.read_text(), timeout=WAIT_MS)
    made._write(tmp_path / "other.asl")
    qtbot.waitUntil(lambda: form.form.entry("plan") == str(tmp_path / "other.asl"), timeout=WAIT_MS)
    made.close()


def test_options_say_the_role_and_what_a_new_plan_begins_with() -> None:
    made: Callable[..., object] = partial(option, None, editor="plan")
    schema = made(role="coach", template="!a.").metadata["schema"]  # type: ignore[attr-defined]
    text = option_text(schema)
    assert (text.role, text.template) == ("coach", "!a.")
    assert option_text({"x-role": 5, "x-template": []}).template == ""
