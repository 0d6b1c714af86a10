"""RunsPanel: the lower panel, with the runs and their logs."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSplitter,
    QStackedLayout,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.runs.columns_menu import ColumnsMenu
from mosaic.gui.runs.commands import RunCommands
from mosaic.gui.runs.log_drawer import LogDrawer
from mosaic.gui.runs.model.columns import ColumnChoice
from mosaic.gui.runs.settings_feed import SettingsFeed
from mosaic.gui.runs.table import RunsTable
from mosaic.gui.runs.table_model import RunsTableModel
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.rerun import FIRST_TITLE
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.widgets.roles import label, set_property, with_role

_LEAST_FILTER, _FILTER_WIDTH = 140, 320
_HALVES = (55, 45)  # per cent: table, log
_LOGS_SETTING = "runs/logs"
_COLUMNS_SETTING, _GROUPS_SETTING = "runs/columns", "runs/groups"
_FILTER_HELP = (
    "Words of name, tags, note, environment, worker, state, settings or id;\n"
    "also state:failed tag:baseline env:CartPole learning_rate:0.001;\n"
    "/between slashes/ a regular expression over all of it"
)


class RunsPanel(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "panel")
        self.setObjectName("runs-panel")
        self._workbench = workbench
        self.model = RunsTableModel(workbench.state.runs, self)
        self.table = RunsTable(workbench, self.model)
        self.commands = RunCommands(workbench, self, self.table.rename)
        self.settings_feed = SettingsFeed(workbench, self.model, self)
        self.columns_menu = ColumnsMenu(self.model, self.choose_columns, self.group_runs, self)
        self.log_drawer = LogDrawer(workbench)
        self.log_drawer.hide()
        self._count = label("", "muted")
        self.pattern_toggle = QAction(self)
        self.filter_field = self._make_filter()
        self.columns_button = self._make_columns_button()
        self.logs_button = self._make_logs_button()
        self.empty = _FirstRun(workbench)
        self._nothing = label("", "muted")
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.setObjectName("runs-nothing")
        self._lay_out()
        self._connect()
        stored = workbench.settings
        self.model.choose_columns(ColumnChoice.from_text(str(stored.value(_COLUMNS_SETTING, ""))))
        self.model.set_grouped(str(stored.value(_GROUPS_SETTING, "true")) == "true")
        self.model.columns_changed.connect(self._remember_columns)
        self.show_logs(str(stored.value(_LOGS_SETTING, "false")) == "true")
        self.model.refresh()

    def _make_filter(self) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName("runs-filter")
        field.setPlaceholderText("filter…")
        field.setAccessibleName("Filter the runs")
        field.setToolTip(_FILTER_HELP)
        field.setMinimumWidth(_LEAST_FILTER)
        field.setMaximumWidth(_FILTER_WIDTH)
        field.setClearButtonEnabled(True)
        self.pattern_toggle.setCheckable(True)
        self.pattern_toggle.setToolTip("A regular expression (or write it /like this/)")
        self.pattern_toggle.setObjectName("runs-filter-pattern")
        self.pattern_toggle.toggled.connect(self._on_filtered)
        field.addAction(self.pattern_toggle, QLineEdit.ActionPosition.TrailingPosition)
        return field

    def _make_columns_button(self) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setObjectName("columns-button")
        button.setToolTip("Columns, and seeds taken together")
        button.setAccessibleName("Columns of the table")
        button.clicked.connect(
            lambda: self.columns_menu.open_at(button.mapToGlobal(button.rect().bottomLeft()))
        )
        return button

    def _make_logs_button(self) -> QPushButton:
        command = self._workbench.commands.add(
            "view.logs",
            "Logs",
            self._on_logs_toggled,
            menu="View",
            shortcut="Ctrl+L",
            icon="text-box-outline",
            is_checkable=True,
        )
        self._logs_command = command
        button = with_role(QPushButton(), "flat")
        button.setObjectName("logs-button")
        button.setCheckable(True)
        button.setToolTip("What the selected run prints (Ctrl+L)")
        button.clicked.connect(command.trigger)
        return button

    def _lay_out(self) -> None:
        header = QHBoxLayout()
        header.setContentsMargins(12, 4, 8, 4)
        header.setSpacing(12)
        header.addWidget(label("Runs", "section"))
        header.addWidget(self.filter_field, 1)
        header.addWidget(self._count)
        header.addStretch(1)
        header.addWidget(self.columns_button)
        header.addWidget(self.logs_button)
        stack = QWidget()
        self._stack = QStackedLayout(stack)
        for widget in (self.table, self.empty, self._nothing):
            self._stack.addWidget(widget)
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(stack)
        self._splitter.addWidget(self.log_drawer)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addLayout(header)
        layout.addWidget(self._splitter, 1)

    def _connect(self) -> None:
        self.filter_field.textChanged.connect(self._on_filtered)
        self.filter_field.returnPressed.connect(self.table.setFocus)
        escape = QShortcut(QKeySequence("Escape"), self.filter_field)
        escape.setContext(Qt.ShortcutContext.WidgetShortcut)
        escape.activated.connect(self.filter_field.clear)
        self._workbench.commands.add(
            "view.filter-runs", "Filter runs", self._on_filter_asked, menu="View", shortcut="Ctrl+F"
        )
        self.model.counted.connect(self._on_counted)
        self.table.action_asked.connect(self._on_action_asked)
        self.table.menu_asked.connect(self.commands.show_menu)
        self.table.opened.connect(self.commands.show)
        self.table.delete_asked.connect(self._on_delete_asked)
        self.table.renamed.connect(self._workbench.run_actions.rename)
        self.table.columns_asked.connect(self.columns_menu.open_at)
        self._workbench.theme.changed.connect(self._draw)
        self._draw()
        for id, title, shortcut, run in (
            ("view.trash", "Trash", "", self._on_trash_asked),
            ("view.columns", "Columns of the runs", "", self.columns_button.click),
            ("view.group-runs", "Group runs by seed", "", self._on_group_asked),
            ("view.errors", "Errors in the log", "", self._on_errors_asked),
        ):
            self._workbench.commands.add(id, title, run, menu="View", shortcut=shortcut)
        self._workbench.state.connection_changed.connect(self._on_connection)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.model.wake()
        self.settings_feed.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self.model.sleep()
        self.settings_feed.stop()
        super().hideEvent(event)

    def show_logs(self, is_open: bool) -> None:
        self._logs_command.setChecked(is_open)
        self.logs_button.setChecked(is_open)
        self.logs_button.setText("Logs ▾" if is_open else "Logs ▴")
        if is_open and not self.log_drawer.isVisibleTo(self):
            self.log_drawer.show()
            self._splitter.setSizes(
                [max(1, self._splitter.width() * part // 100) for part in _HALVES]
            )
        self.log_drawer.setVisible(is_open)
        self._workbench.settings.setValue(_LOGS_SETTING, "true" if is_open else "false")

    def choose_columns(self, choice: ColumnChoice) -> None:
        self.model.choose_columns(choice)

    def group_runs(self, is_grouped: bool) -> None:
        self.model.set_grouped(is_grouped)
        self._workbench.settings.setValue(_GROUPS_SETTING, "true" if is_grouped else "false")

    def _remember_columns(self) -> None:
        self._workbench.settings.setValue(_COLUMNS_SETTING, self.model.choice.to_text())

    @property
    def count_text(self) -> str:
        return self._count.text()

    def _on_logs_toggled(self) -> None:
        self.show_logs(not self.log_drawer.isVisibleTo(self))

    def _on_filtered(self) -> None:
        self._draw()
        self.model.set_filter(self.filter_field.text(), self.pattern_toggle.isChecked())

    def _on_trash_asked(self) -> None:
        self._workbench.state.show_page(Page.TRASH)

    def _on_group_asked(self) -> None:
        self.group_runs(not self.model.is_grouped)

    def _draw(self) -> None:
        theme = self._workbench.theme
        is_pattern = self.pattern_toggle.isChecked()
        colour = theme.palette.accent if is_pattern else theme.palette.muted
        self.pattern_toggle.setIcon(theme.icon("regex", colour))
        self.columns_button.setIcon(theme.icon("view-column-outline"))

    def _on_filter_asked(self) -> None:
        self.filter_field.setFocus()
        self.filter_field.selectAll()

    def _on_action_asked(self, action: str, run_id: str) -> None:
        self.commands.perform(RunAction(action), [run_id])

    def _on_delete_asked(self) -> None:
        self.commands.perform(RunAction.DELETE)

    def _on_errors_asked(self) -> None:
        self.show_logs(True)
        self.log_drawer.show_errors()

    def _on_connection(self, _: str) -> None:
        self._on_counted()

    def _on_counted(self) -> None:
        state = self._workbench.state
        runs = state.runs
        problem = self.model.filter_problem
        self._count.setText(problem or self.model.summary if len(runs) else "")
        set_property(self._count, "role", "error" if problem else "muted")
        self._count.setToolTip(problem)
        if self.model.rowCount():
            self._stack.setCurrentWidget(self.table)
        elif len(runs) and self.model.is_filtered:
            self._nothing.setText(f"No run matches “{self.filter_field.text().strip()}”")
            self._stack.setCurrentWidget(self._nothing)
        elif state.connection is not Connection.ONLINE and not runs.is_loaded:
            self._nothing.setText("Waiting for the daemon …")
            self._stack.setCurrentWidget(self._nothing)
        elif not len(runs):
            self._stack.setCurrentWidget(self.empty)


class _FirstRun(QWidget):
    """In one line, since the panel is low: nothing here, and how to change that."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.button = with_role(QPushButton(FIRST_TITLE), "primary")
        self.button.setObjectName("first-run")
        self.button.clicked.connect(workbench.run_actions.start_first)
        layout = QHBoxLayout(self)
        layout.setSpacing(12)
        layout.addStretch(1)
        layout.addWidget(label("No runs yet.", "muted"))
        layout.addWidget(self.button)
        layout.addStretch(1)
