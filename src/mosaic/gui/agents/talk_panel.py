"""TalkPanel: goals and beliefs for the agents of a run that goes on, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.agents import AgentsSupport
from mosaic.contracts.run_record import RunRecord
from mosaic.front.worker_commands import ask_async
from mosaic.gui.agents.model.talking import (
    Reply,
    goal_command,
    line_command,
    line_hint,
    line_kinds,
    plain_goals,
    reply_to,
    support_of,
)
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import sentence_of
from mosaic.gui.value_map.model import plain
from mosaic.gui.widgets.roles import label, set_property, with_role, without_mnemonics

if TYPE_CHECKING:
    from mosaic.gui.plans.editor import PlanEditor

_MOST_GOALS = 8
_LONGEST_NAME = 24


class TalkPanel(QWidget):
    """Hidden where nobody listens."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._record: RunRecord | None = None
        self._support: AgentsSupport | None = None
        self._agent = ""
        self._agents: list[tuple[str, str]] = []
        self._editor: PlanEditor | None = None
        self.goals: dict[str, QPushButton] = {}
        self.plan = with_role(QPushButton("Plan…"), "chip")
        self.plan.setAccessibleName("Write a plan for an agent")
        self.plan.setToolTip("Write a plan and send it to an agent, which learns it")
        self.plan.clicked.connect(self._on_plan)
        self._caption = label("Goal", "caption")
        self._goal_row = QHBoxLayout()
        self._goal_row.setSpacing(4)
        self._goal_row.addWidget(self._caption)
        self._goal_row.addStretch(1)
        self._goal_row.addWidget(self.plan)
        self.kind = QComboBox()
        self.kind.setAccessibleName("What to send")
        self.kind.currentTextChanged.connect(self._on_kind)
        self.line = QLineEdit()
        self.line.setMaxLength(500)
        self.line.returnPressed.connect(self._on_line)
        self.send = QPushButton("Send")
        self.send.setAccessibleName("Send it to the agents")
        self.send.clicked.connect(self._on_line)
        self.answer = label(role="caption")
        self.answer.setWordWrap(True)
        line_row = QHBoxLayout()
        line_row.setSpacing(4)
        line_row.addWidget(self.kind)
        line_row.addWidget(self.line, 1)
        line_row.addWidget(self.send)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(self._goal_row)
        layout.addLayout(line_row)
        layout.addWidget(self.answer)
        self.hide()

    @property
    def cell_goal(self) -> str:
        """The goal that takes the name of a cell as its target; empty: none, or nobody listens."""
        return self._support.cell_goal if self._support is not None else ""

    def show_run(self, record: RunRecord) -> None:
        if self._record is None or self._record.run_id != record.run_id:
            self._say(Reply("", True))
            self.line.clear()
            self._agents = []
        self._record = record
        support = support_of(record)
        if support != self._support:
            self._support = support
            self._make(support)
        self.setVisible(support is not None)

    def show_agent(self, agent: str) -> None:
        """The one that is looked at: beliefs are for it."""
        self._agent = agent
        self._on_kind(self.kind.currentText())

    def set_goal(self, kind: str, target: str = "") -> None:
        self._ask(goal_command(kind, target))

    def show_agents(self, agents: Sequence[tuple[str, str]]) -> None:
        """Name and role of all: those of some roles take plans."""
        self._agents = list(agents)

    def close_editor(self) -> None:
        if self._editor is not None:
            self._editor.close()

    def _on_plan(self) -> None:
        from mosaic.gui.plans.editor import PlanEditor

        if self._record is None or self._support is None:
            return
        if self._editor is None:
            self._editor = PlanEditor(self._workbench)
        roles = self._support.plan_roles
        agents = tuple(one for one in self._agents if one[1] in roles)
        self._editor.open_for_run(self._record, agents)

    def _make(self, support: AgentsSupport | None) -> None:
        for button in self.goals.values():
            self._goal_row.removeWidget(button)
            button.deleteLater()
        self.goals = {}
        for kind in plain_goals(support)[:_MOST_GOALS] if support is not None else ():
            name = plain(kind)[:_LONGEST_NAME]
            button = QPushButton(without_mnemonics(name.replace("_", " ")))
            with_role(button, "chip")
            button.setAccessibleName(f"Goal {name}")
            button.setToolTip(f"Sets the goal {name}; what is pursued is dropped")
            button.clicked.connect(lambda _=False, kind=kind: self.set_goal(kind))
            self.goals[kind] = button
            self._goal_row.insertWidget(self._goal_row.count() - 2, button)
        self._caption.setVisible(bool(self.goals))
        self.plan.setVisible(support is not None and bool(support.plan_roles))
        self.kind.clear()
        self.kind.addItems(line_kinds(support) if support is not None else ())

    def _on_kind(self, kind: str) -> None:
        hint = line_hint(kind)
        self.line.setPlaceholderText(hint)
        whom = f" to {self._agent}" if self._agent and kind == self.kind.itemText(0) else ""
        self.line.setAccessibleName(f"{kind}{whom}: {hint}")
        self.line.setToolTip(f"Sent{whom} with Enter" if whom else "Sent with Enter")

    def _on_line(self) -> None:
        text = self.line.text().strip()
        if text:
            self._ask(line_command(self.kind.currentText(), text, self._agent))
        else:
            self._say(Reply(f"Type {line_hint(self.kind.currentText())}", False))

    def _ask(self, command: dict[str, Any]) -> None:
        record = self._record
        if record is None or self._support is None:
            return
        self._say(Reply("Sending…", True))
        self._workbench.bridge.ask(
            lambda client: ask_async(client, record.run_id, command),
            lambda answer: self._on_answer(record, command, reply_to(command, answer)),
            lambda error: self._on_answer(record, command, Reply(sentence_of(error), False)),
        )

    def _on_answer(self, asked: RunRecord, command: dict[str, Any], reply: Reply) -> None:
        if self._record is None or self._record.run_id != asked.run_id:
            return  # another run is looked at by now
        self._say(reply)
        if reply.is_good and self.line.text().strip() in command.values():
            self.line.clear()

    def _say(self, reply: Reply) -> None:
        mark = "" if not reply.text else "" if reply.is_good else "\N{MULTIPLICATION SIGN} "
        self.answer.setText(mark + reply.text)
        self.answer.setAccessibleName(reply.text)
        self.answer.setVisible(bool(reply.text))
        set_property(self.answer, "role", "caption" if reply.is_good else "error")
