"""AgentsTab: what the agents of a run believe, want, say and know; read while it grows."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.agents.map_page import MapPage
from mosaic.gui.agents.model.mind import MindView
from mosaic.gui.agents.model.reading import AgentsRead, AgentsReader
from mosaic.gui.agents.model.words import (
    BELIEF_COLUMNS,
    GOAL_COLUMNS,
    HAPPENING_COLUMNS,
    MESSAGE_COLUMNS,
    agent_title,
    belief_rows,
    belief_status,
    confidence_words,
    goal_rows,
    goal_status,
    happening_rows,
    headline,
    message_rows,
    message_status,
)
from mosaic.gui.agents.talk_panel import TalkPanel
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.tabs.row_table import RowTable
from mosaic.gui.tabs.run_tab import FileFollower, TabPage
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import eliding_label, label

BELIEFS, GOALS, MESSAGES, MAP = "beliefs", "goals", "messages", "map"
_TITLES = ((BELIEFS, "Beliefs"), (GOALS, "Goals"), (MESSAGES, "Messages"), (MAP, "Map"))
_LOOK_MS = 350
_READING = "Reading what the agents say…"


class AgentsTab(TabPage):
    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "head-cog-outline", content)
        self._record: RunRecord | None = None
        self._follower = FileFollower(self, _LOOK_MS, self._on_read)
        self._found = AgentsRead()
        theme = workbench.theme
        self.agents = QComboBox()
        self.agents.setAccessibleName("Agent")
        self.agents.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.agents.setMinimumContentsLength(6)
        self.agents.currentIndexChanged.connect(self._on_agent)
        self.headline = eliding_label()
        self.confidence = label(role="muted")
        self.which = Segmented(_TITLES)
        self.which.chosen.connect(self._on_which)
        self.filter = QLineEdit()
        self.filter.setPlaceholderText("Filter")
        self.filter.setAccessibleName("Show only what has this text")
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._draw)
        self.status = eliding_label(role="caption")
        self.beliefs = RowTable(theme, "Beliefs")
        self.goals = RowTable(theme, "Goals")
        self.happenings = RowTable(theme, "Notes and failures")
        self.messages = RowTable(theme, "Messages")
        self.map_page = MapPage(theme)
        self.map_page.target_chosen.connect(self._on_target)
        self.talk = TalkPanel(workbench)
        self.problems = label(role="warning")
        self.problems.setWordWrap(True)
        self._stack = QStackedLayout()
        self._lay_out(content)
        self.say(_READING)

    def show_run(self, record: RunRecord) -> None:
        was_over = self._record is not None and self._record.is_over
        self._record = record
        if self._follower.follow(record, lambda record: AgentsReader(record).read):
            self._found = AgentsRead()
            with QSignalBlocker(self.agents):
                self.agents.clear()
            for table in (self.beliefs, self.goals, self.happenings, self.messages):
                table.show_rows((), ())
            self.status.setText("")
            self.map_page.forget()
            self.say(_READING)
            if self.is_active:
                self._follower.read_now()
        elif record.is_over and not was_over and self.is_active:
            self._follower.read_now()  # its last words
        self.talk.show_run(record)
        goal = self.talk.cell_goal
        self.map_page.show_click_help(f"click: {goal}" if goal else "")

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active:
            self._follower.begin()
        else:
            self._follower.end()

    def close_tab(self) -> None:
        self.talk.close_editor()

    def _lay_out(self, content: QWidget) -> None:
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.headline, 1)
        top.addWidget(self.confidence)
        self._bar = QWidget()
        bar = QHBoxLayout(self._bar)
        bar.setContentsMargins(0, 0, 0, 0)
        bar.setSpacing(8)
        bar.addWidget(self.agents)
        bar.addWidget(self.filter, 1)
        bar.addWidget(self.status, 1)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(self.goals)
        parts.addWidget(self.happenings)
        parts.setStretchFactor(0, 2)
        parts.setStretchFactor(1, 3)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(top)
        layout.addWidget(self.which)
        layout.addWidget(self._bar)
        layout.addLayout(self._stack, 1)
        layout.addWidget(self.problems)
        layout.addWidget(self.talk)
        self._sections = {
            BELIEFS: self.beliefs,
            GOALS: parts,
            MESSAGES: self.messages,
            MAP: self.map_page,
        }
        # Filled when it has a place: before, Qt would open a window for its first page.
        for page in self._sections.values():
            self._stack.addWidget(page)

    @property
    def mind(self) -> MindView | None:
        """Of the agent that is looked at."""
        chosen = self.agents.currentData()
        return next((mind for mind in self._found.minds if mind.agent == chosen), None)

    def _on_read(self, found: AgentsRead) -> None:
        self._found = found
        if found.is_empty and not found.problems:
            self._say_nothing_yet()
            return
        self.show_content()
        self._list_agents()
        self.problems.setText("\n".join(found.problems))
        self.problems.setVisible(bool(found.problems))
        self.map_page.show_values(found.map, found.snapshots)
        self._draw()

    def _say_nothing_yet(self) -> None:
        is_over = self._record is not None and self._record.is_over
        if is_over:
            self.say("Its agents have left nothing", "What they write is in the folder of the run.")
        else:
            self.say("No word of the agents yet", "It appears as soon as they have begun.")

    def _list_agents(self) -> None:
        minds = self._found.minds
        titles = [agent_title(mind) for mind in minds]
        if titles == [self.agents.itemText(place) for place in range(self.agents.count())]:
            return
        chosen = self.agents.currentData()
        with QSignalBlocker(self.agents):
            self.agents.clear()
            for mind, title in zip(minds, titles, strict=True):
                self.agents.addItem(title, mind.agent)
            self.agents.setCurrentIndex(max(0, self.agents.findData(chosen)))
        self.talk.show_agents([(mind.agent, mind.role) for mind in minds])
        self.talk.show_agent(self.agents.currentData() or "")

    def _on_agent(self) -> None:
        self.talk.show_agent(self.agents.currentData() or "")
        self._draw()

    def _on_which(self, value: str) -> None:
        self._stack.setCurrentWidget(self._sections[value])
        self._bar.setVisible(value != MAP)
        self._draw()

    def _draw(self) -> None:
        """The section in front alone: the others are drawn when they are."""
        mind = self.mind
        for words in (self.headline, self.confidence):
            words.setVisible(mind is not None)
        if mind is None:
            return
        is_over = self._record is not None and self._record.is_over
        now = math.inf if is_over else time.time()  # in what is over nothing is new
        wanted = self.filter.text()
        self.headline.setText(headline(mind))
        self.confidence.setText(confidence_words(mind))
        match self.which.value:
            case "beliefs":
                rows = belief_rows(mind, wanted, now)
                self.beliefs.show_rows(BELIEF_COLUMNS, rows)
                self.status.setText(belief_status(mind, len(rows)))
            case "goals":
                self.goals.show_rows(GOAL_COLUMNS, goal_rows(mind, wanted, now))
                self.happenings.show_rows(HAPPENING_COLUMNS, happening_rows(mind, wanted))
                self.status.setText(goal_status(mind))
            case "messages":
                rows = message_rows(mind, wanted, now)
                self.messages.show_rows(MESSAGE_COLUMNS, rows)
                self.status.setText(message_status(mind, len(rows)))

    def _on_target(self, target: str) -> None:
        if self.talk.cell_goal:
            self.talk.set_goal(self.talk.cell_goal, target)
