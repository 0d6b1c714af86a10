"""PlanEditor: a window with a plan in AgentSpeak, checked while somebody types.

Whoever opens it keeps one and uses it again; it belongs to the window of the workbench:

    editor = PlanEditor(workbench)
    editor.open_for_run(record)                 # to send plans to agents that live now
    editor.open_for_run(record, (("learner", "learner"), ("scout", "observer")))  # name and role
    editor.open_for_file(target, "~/mine.asl", saved)   # of a form: `saved` gets the path

Opened again with changes that are not saved, it asks first; so it does when it, or the window of
the workbench, is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QPushButton, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.front.plan_check import PlanProblem
from mosaic.front.worker_commands import ask_async
from mosaic.gui.plans.checker import LiveChecker
from mosaic.gui.plans.model.checking import summary
from mosaic.gui.plans.model.plan_file import (
    Changed,
    PlanDocument,
    PlanFile,
    Stamp,
    read_plan,
    stamp_of,
    write_plan,
)
from mosaic.gui.plans.model.target import (
    Agents,
    Answer,
    PlanTarget,
    answer_of,
    command_of,
    run_target,
    why_not_sent,
)
from mosaic.gui.plans.problem_list import ProblemList
from mosaic.gui.plans.question import QuestionBar
from mosaic.gui.plans.text_view import PlanText
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Severity, sentence_of
from mosaic.gui.widgets.choosers import SearchCombo, ask_for_file
from mosaic.gui.widgets.messages import Banner
from mosaic.gui.widgets.roles import eliding_label, label, set_property, with_role

_FIRST_SIZE, _LEAST_SIZE = (760, 600), (400, 320)
_PATTERN = "Plans (*.asl);;All files (*)"
_ICON = QSize(16, 16)
_ROLES = {Severity.GOOD: "good", Severity.BAD: "error", Severity.INFO: "caption"}


class PlanEditor(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__(workbench.commands.window, Qt.WindowType.Window)
        self.setObjectName("window")  # looks like the other one
        self._workbench = workbench
        self._target = PlanTarget("Plan", "")
        self._document = PlanDocument()
        self._saved: Callable[[str], None] | None = None
        self._answer: Answer | None = None  # until the text is another one
        self._answered_text = ""
        self._tasks: dict[str, Task] = {}
        self._may_close = False
        self._make_parts()
        self._arrange()
        self.setMinimumSize(*_LEAST_SIZE)
        self.resize(*_FIRST_SIZE)
        self.checker = LiveChecker(workbench, self)
        self._connect()
        workbench.commands.window.installEventFilter(self)

    # How it is opened

    def open_for_run(self, record: RunRecord, agents: Agents = ()) -> None:
        """To send a plan to an agent of a run. Without `agents` their roles are their names."""
        worker = self._workbench.state.worker(record.worker)
        support = worker.capabilities.agents if worker and worker.capabilities else None
        target = run_target(record, support, agents)
        if self._target.run_id == record.run_id and self.isVisible():
            self._show_target(target)  # what was typed is still wanted
            self._come_to_front()
        else:
            self._unless_unsaved(partial(self._begin, target, None))

    def open_for_file(self, target: PlanTarget, path: str, saved: Callable[[str], None]) -> None:
        """The plan that a form names, or a new one; `saved` gets its path when it has one."""
        self._unless_unsaved(partial(self._begin, target, saved, path.strip()))

    def _begin(
        self, target: PlanTarget, saved: Callable[[str], None] | None, path: str = ""
    ) -> None:
        self._cancel()
        self._saved, self._answer = saved, None
        self._document.begin()
        self.view.show_text("")
        self.question.dismiss()
        self._show_target(target)
        self.checker.open(target.worker)
        self._on_text_changed()
        self._come_to_front()
        if path:
            self._read(Path(path).expanduser())

    def _come_to_front(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()
        self.view.setFocus()

    # What it is made of

    def _make_parts(self) -> None:
        theme = self._workbench.theme
        self._title = eliding_label("", "section")
        self.file_button = QPushButton("File ▾")
        self.file_button.setAccessibleName("File of the plan")
        self.menu = QMenu(self.file_button)
        self.menu.addAction("New", self._on_new)
        self._from_template = self.menu.addAction("New from the shipped plan", self._on_template)
        self.menu.addSeparator()
        self.menu.addAction("Open…\tCtrl+O", self._on_open)
        self.menu.addAction("Save as…\tCtrl+Shift+S", self.save_as)
        self.file_button.setMenu(self.menu)
        self.save_button = QPushButton("Save")
        self.save_button.setToolTip("Save (Ctrl+S)")
        self.agents = SearchCombo(takes_any_text=True)
        self.agents.setAccessibleName("Agent that the plan is for")
        self.send_button = with_role(QPushButton("Send to the running agent"), "primary")
        self.send_button.setObjectName("plan-send")
        self._send_reason = label("", "caption")
        self._send_reason.setWordWrap(True)
        self.question = QuestionBar(theme)
        self.install_banner = Banner(theme, "package-variant-closed")
        self.view = PlanText(theme)
        self.view.setPlaceholderText("Plans in AgentSpeak: +!goal : what is believed <- actions.")
        self._status_icon = QLabel()
        self.status = label("", "caption")
        self.status.setWordWrap(True)
        self.place = label("", "caption")
        self.problem_list = ProblemList(theme)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._title, 1)
        head.addWidget(self.file_button)
        head.addWidget(self.save_button)
        self._run_row = QWidget()
        to = QHBoxLayout(self._run_row)
        to.setContentsMargins(0, 0, 0, 0)
        to.setSpacing(8)
        words = label("To")
        words.setBuddy(self.agents)
        to.addWidget(words)
        to.addWidget(self.agents, 1)
        to.addWidget(self.send_button)
        foot = QHBoxLayout()
        foot.setSpacing(6)
        foot.addWidget(self._status_icon, 0, Qt.AlignmentFlag.AlignTop)
        foot.addWidget(self.status, 1)
        foot.addWidget(self.place, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self._run_row)
        layout.addWidget(self._send_reason)
        layout.addWidget(self.question)
        layout.addWidget(self.install_banner)
        layout.addWidget(self.view, 1)
        layout.addLayout(foot)
        layout.addWidget(self.problem_list)

    def _connect(self) -> None:
        self.save_button.clicked.connect(lambda: self.save())
        self.send_button.clicked.connect(self.send)
        self.agents.picked.connect(lambda _: self._on_agent_picked())
        self.view.textChanged.connect(self._on_text_changed)
        self.view.cursorPositionChanged.connect(self._show_place)
        self.view.refused.connect(lambda text: self.question.ask(text, (("OK", _nothing),)))
        self.problem_list.chosen.connect(self.view.go_to)
        self.checker.changed.connect(self._show_check)
        self._workbench.theme.changed.connect(self._show_check)
        self._workbench.state.runs.changed.connect(self._on_runs_changed)
        self._workbench.state.runs.removed.connect(self._on_runs_changed)
        for keys, action in (
            ("Ctrl+S", self.save),
            ("Ctrl+Shift+S", self.save_as),
            ("Ctrl+O", self._on_open),
            ("Ctrl+W", self.close),
            ("Ctrl+Return", self.send),
            ("F8", lambda: self.problem_list.go_on(1)),
            ("Shift+F8", lambda: self.problem_list.go_on(-1)),
            ("F6", self._change_part),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.activated.connect(action)

    # The text and its file

    @property
    def has_changes(self) -> bool:
        return self.isVisible() and self._document.is_changed(self.view.text)

    def save(self) -> None:
        if self._document.path is None:
            self.save_as()
        else:
            self._write(None)

    def save_as(self, after: Callable[[], None] | None = None) -> None:
        role = self._target.role or "plan"
        suggested = self._document.path or Path.home() / f"{role}.asl"
        ask_for_file(
            self,
            "Save the plan",
            _PATTERN,
            lambda path: self._write(path, after),
            suggested=str(suggested),
            is_new=True,
        )

    def _write(self, path: Path | None, after: Callable[[], None] | None = None) -> None:
        wanted = self._document.as_saved(self.view.text, path)
        if wanted is None:
            return
        # The dialog has asked about what is in another place.
        known = self._document.seen if path is None else None

        def done(written: PlanFile | Changed) -> None:
            if isinstance(written, Changed):
                self._tell_news(written.stamp)
                return
            self._document.take(written)
            self._show_title()
            if self._saved is not None:
                self._saved(str(written.path))
            if after is not None:
                after()

        self._work("file", lambda: write_plan(wanted, known), done)

    def _read(self, path: Path) -> None:
        def done(found: PlanFile) -> None:
            self._document.take(found)
            self.view.show_text(found.text)
            self._on_text_changed()
            if found.stamp is None:
                self.question.ask(
                    f"{path.name} is not there yet: saving makes it", (("OK", _nothing),)
                )
            elif self._saved is not None:
                self._saved(str(path))

        self._work("file", lambda: _read_or_begin(path), done)

    def _on_open(self) -> None:
        def choose() -> None:
            beside = self._document.path
            ask_for_file(
                self, "Open a plan", _PATTERN, self._read, suggested=str(beside or Path.home())
            )

        self._unless_unsaved(choose)

    def _on_new(self) -> None:
        self._unless_unsaved(partial(self._start_with, ""))

    def _on_template(self) -> None:
        self._unless_unsaved(partial(self._start_with, self._target.template))

    def _start_with(self, text: str) -> None:
        self._document.begin(text)
        self.view.show_text(text)
        self._on_text_changed()

    def _tell_news(self, stamp: Stamp | None) -> None:
        """Somebody else has written the file."""
        news, path = self._document.news(stamp), self._document.path
        if not news or path is None:
            return
        is_changed = self._document.is_changed(self.view.text)
        words = "Reload, drop this text" if is_changed else "Reload"
        reload = [(words, partial(self._read, path))] if stamp is not None else []
        self.question.ask(news, (*reload, ("Keep this text", _nothing)))

    def _on_text_changed(self) -> None:
        text = self.view.text
        if text != self._answered_text:
            self._answer = None
        self.checker.look(text, self._role)
        self._show_title()
        self._show_check()
        self._show_sending()

    # What is not saved

    def _unless_unsaved(self, action: Callable[[], None]) -> None:
        if not self.has_changes:
            action()
            return
        self._come_to_front()
        self._ask_unsaved(action)

    def _ask_unsaved(self, action: Callable[[], None]) -> None:
        name = self._document.path.name if self._document.path is not None else "The plan"

        def save_first() -> None:
            if self._document.path is None:
                self.save_as(action)
            else:
                self._write(None, action)

        self.question.ask(
            f"{name} has changes that are not saved",
            (("Save", save_first), ("Discard", action), ("Keep editing", self.view.setFocus)),
            takes_keyboard=True,
        )

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.has_changes and not self._may_close:
            event.ignore()
            self._ask_unsaved(self._close_anyway)
            return
        self._may_close = False
        self._cancel()
        self.checker.close()
        self.question.dismiss()
        super().closeEvent(event)

    def _close_anyway(self) -> None:
        self._may_close = True
        self.close()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The window of the workbench does not close over what somebody has written."""
        if event.type() != QEvent.Type.Close or watched is not self._workbench.commands.window:
            return False
        if not self.has_changes:
            self.close()
            return False
        event.ignore()

        def close_both() -> None:
            self._close_anyway()
            self._workbench.commands.window.close()

        self._come_to_front()
        self._ask_unsaved(close_both)
        return True

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        path = self._document.path
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and path:
            self._work("look", lambda: stamp_of(path), self._tell_news)

    # Sending

    def send(self) -> None:
        agent, text = self.agents.currentText().strip(), self.view.text
        run_id = self._target.run_id
        if self._reason() or not self._target.is_of_run or self._is_sending:
            return

        def done(told: dict[str, object] | None) -> None:
            self._on_answer(answer_of(told, agent), text)

        def failed(error: MosaicError) -> None:
            self._on_answer(Answer(sentence_of(error), Severity.BAD), text)

        self._tasks["send"] = self._workbench.bridge.ask(
            lambda client: ask_async(client, run_id, command_of(text, agent)), done, failed
        )
        self._show_sending()

    def _on_answer(self, answer: Answer, text: str) -> None:
        self._tasks.pop("send", None)
        if self.view.text == text:
            self._answer, self._answered_text = answer, text
            if answer.severity is Severity.GOOD and self._document.path is None:
                self._document.begin(text)  # it has arrived where it was wanted
        else:
            self._workbench.state.say(answer.notice)
        self._show_title()
        self._show_check()
        self._show_sending()

    @property
    def _is_sending(self) -> bool:
        return "send" in self._tasks

    def _reason(self) -> str:
        record = self._workbench.state.runs.get(self._target.run_id)
        return why_not_sent(record, self.agents.currentText(), self.view.text)

    def _on_agent_picked(self) -> None:
        self.checker.look(self.view.text, self._role)
        self._show_sending()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self.isVisible() and self._target.run_id in changed:
            self._show_sending()

    # What it looks like

    @property
    def _role(self) -> str:
        target = self._target
        return target.role_of(self.agents.currentText().strip()) if target.run_id else target.role

    def _show_target(self, target: PlanTarget) -> None:
        before = self.agents.currentText() if target.run_id == self._target.run_id else ""
        self._target = target
        names = [name for name, _ in target.agents]
        self.agents.set_texts(names)
        self.agents.show_text(before or (names[0] if names else ""))
        self._run_row.setVisible(target.is_of_run)
        self._from_template.setVisible(bool(target.template))
        self._show_title()
        self._show_sending()

    def _show_title(self) -> None:
        name = self._document.title(self.view.text)
        self._title.setText(name)
        self.setWindowTitle(f"{name} · {self._target.title} · MOSAIC")

    def _show_sending(self) -> None:
        reason = self._reason() if self._target.is_of_run else ""
        self.send_button.setEnabled(not reason and not self._is_sending)
        self.send_button.setText("Sending…" if self._is_sending else "Send to the running agent")
        self.send_button.setToolTip("The agent learns these plans at once (Ctrl+Enter)")
        self._send_reason.setText(f"Not sent: {reason}" if reason else "")
        self._send_reason.setVisible(bool(reason))

    def _show_check(self) -> None:
        checker, answer = self.checker, self._answer
        problems = answer.problems if answer is not None and answer.problems else checker.problems
        self.view.show_problems(problems)
        self.problem_list.show_problems(problems)
        offer = checker.state.install_text
        self.install_banner.show_text(
            f"{checker.state.reason}." if offer else "", offer, checker.install if offer else None
        )
        self._show_status(problems)
        self._show_place()

    def _show_status(self, problems: tuple[PlanProblem, ...]) -> None:
        palette = self._workbench.theme.palette
        checker, answer = self.checker, self._answer
        has_errors = any(problem.is_error for problem in problems)
        if answer is not None:
            icon = "check-circle-outline" if answer.severity is Severity.GOOD else "alert-circle"
            text, role = answer.text, _ROLES[answer.severity]
        elif checker.state.checker is None:
            icon, text, role = "help-circle-outline", checker.state.reason, "caption"
        elif not checker.is_current:
            icon, text, role = "timer-sand", "Checking…", "caption"
        elif checker.failure:
            icon, text, role = "help-circle-outline", checker.failure, "warning"
        else:
            icon = "close-circle-outline" if has_errors else "alert-outline"
            role = "error" if has_errors else "warning"
            if not problems:
                icon, role = "check-circle-outline", "good"
            text = summary(problems)
        colours = {"good": palette.good, "error": palette.bad, "warning": palette.warning}
        picture = self._workbench.theme.icon(icon, colours.get(role, palette.muted))
        self._status_icon.setPixmap(picture.pixmap(_ICON))
        self.status.setText(text)
        set_property(self.status, "role", role)

    def _show_place(self) -> None:
        cursor = self.view.textCursor()
        column = cursor.positionInBlock() + 1
        self.place.setText(f"line {cursor.blockNumber() + 1:,}, column {column:,}")

    def _change_part(self) -> None:
        """Between the text and the list of its problems."""
        if self.view.hasFocus() and self.problem_list.isVisible():
            self.problem_list.setFocus()
            self.problem_list.setCurrentRow(max(0, self.problem_list.currentRow()))
        else:
            self.view.setFocus()

    # Work that takes its time

    def _work(self, name: str, function: Callable[[], object], done: Callable[..., None]) -> None:
        """The newest of its name counts."""
        before = self._tasks.pop(name, None)
        if before is not None:
            before.cancel()
        self._tasks[name] = self._workbench.bridge.work(function, done, self._on_failed)

    def _on_failed(self, error: MosaicError) -> None:
        self.question.ask(sentence_of(error), (("OK", self.view.setFocus),))

    def _cancel(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()


def _read_or_begin(path: Path) -> PlanFile:
    """One that is not there is begun."""
    return read_plan(path) if path.exists() else PlanFile(path, "", None)


def _nothing() -> None:
    """A sentence was read."""
