"""TensorBoardTab: what the run logs for TensorBoard, and TensorBoard itself on demand."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.charts.media_panel import MediaPanel
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.tabs.desktop import copy_text, open_address, open_file
from mosaic.gui.tabs.row_table import FactList, RowTable
from mosaic.gui.tabs.run_tab import FileFollower, TabPage
from mosaic.gui.tensorboard.model import TAG_COLUMNS, Board, BoardState, LogFacts, LogReader
from mosaic.gui.widgets.roles import label, with_role

_LOOK_MS = 3000
_TAIL_HEIGHT = 110


class TensorBoardTab(TabPage):
    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "chart-multiline", content)
        self._record: RunRecord | None = None
        self._follower = FileFollower(self, _LOOK_MS, self._on_read)
        self._facts: LogFacts | None = None
        self.board = Board()
        self.board_state = BoardState.OFF
        self._url = ""
        self._shown_run = ""  # the one that TensorBoard shows
        self.facts = FactList(72)
        self.open_button = with_role(QPushButton(), "primary")
        self.open_button.setObjectName("tensorboard-open")
        self.open_button.clicked.connect(self._on_open)
        self.stop_button = QPushButton("Stop")
        self.stop_button.setToolTip("End TensorBoard; it also ends with this window")
        self.stop_button.clicked.connect(self._on_stop)
        self.folder_button = QPushButton("Show folder")
        self.folder_button.clicked.connect(self._on_folder)
        self.copy_button = QPushButton("Copy command")
        self.copy_button.setToolTip("The command that shows the same in a terminal")
        self.copy_button.clicked.connect(self._on_copy)
        self.status = label()
        self.status.setWordWrap(True)
        self.tail = with_role(QPlainTextEdit(), "code")
        self.tail.setReadOnly(True)
        self.tail.setAccessibleName("What TensorBoard said")
        self.tail.setMaximumHeight(_TAIL_HEIGHT)
        self.problems = label(role="warning")
        self.problems.setWordWrap(True)
        self.table = RowTable(workbench.theme, "Logged tags")
        self.media = MediaPanel(workbench)
        self._lay_out(content)
        self._board_timer = QTimer(self)
        self._board_timer.setInterval(_LOOK_MS)
        self._board_timer.timeout.connect(self._look_at_board)
        self.say("Reading the event files…")
        self._draw_board()

    def show_run(self, record: RunRecord) -> None:
        self._record = record
        if self._follower.follow(record, lambda record: LogReader(record).read):
            self._facts = None
            self.say("Reading the event files…")
            if self.is_active:
                self._follower.read_now()
        self._draw_board()

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active:
            self._follower.begin()
            self._board_timer.start()
        else:
            self._follower.end()
            self._board_timer.stop()

    def close_tab(self) -> None:
        self.board.close()

    def _lay_out(self, content: QWidget) -> None:
        first, second = QHBoxLayout(), QHBoxLayout()
        for row, widgets in (
            (first, (self.open_button, self.stop_button)),
            (second, (self.folder_button, self.copy_button)),
        ):
            row.setSpacing(8)
            for widget in widgets:
                row.addWidget(widget)
            row.addStretch(1)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(first)
        layout.addWidget(self.status)
        layout.addWidget(self.tail)
        layout.addSpacing(4)
        layout.addWidget(self.facts)
        layout.addLayout(second)
        layout.addWidget(self.problems)
        layout.addWidget(self.media, 2)
        layout.addWidget(self.table, 1)

    # What is logged

    def _on_read(self, facts: LogFacts) -> None:
        self._facts = facts
        if not facts.files:
            self.say(
                "No event files yet" if self._is_live() else "No event files",
                "They appear when the training has logged something."
                if self._is_live()
                else "They were moved or deleted; the charts have what the run reported.",
            )
            return
        self.show_content()
        folders = "\n".join(str(folder) for folder in facts.folders)
        self.facts.show_facts([("Logged", facts.summary, ""), ("Folder", folders, "")])
        self.problems.setText("\n".join(facts.problems))
        self.problems.setVisible(bool(facts.problems))
        self.table.show_rows(TAG_COLUMNS, facts.rows)
        self.media.show_media(facts.media)

    def _is_live(self) -> bool:
        return self._record is not None and not self._record.is_over

    def _on_folder(self) -> None:
        if self._facts is not None and self._facts.folders:
            open_file(self.workbench, self._facts.folders[0])

    def _on_copy(self) -> None:
        if self._facts is not None:
            copy_text(self.workbench, self._facts.command, "Command")

    # TensorBoard itself

    def _look_at_board(self) -> None:
        if self.board_state is BoardState.RUNNING and not self.board.is_running:
            self._show_board(BoardState.ENDED)

    def _is_shown(self) -> bool:
        return self._record is not None and self._record.run_id == self._shown_run

    def _on_open(self) -> None:
        if self.board_state is BoardState.RUNNING and self._is_shown():
            open_address(self.workbench, self._url)
            return
        record = self._record
        if record is None or self.board_state is BoardState.STARTING:
            return
        self._shown_run = record.run_id
        self._show_board(BoardState.STARTING)
        # Not among the tasks of the tab: it continues when another one is in front.
        self.workbench.bridge.work(
            lambda: self.board.start(record), self._on_started, self._on_start_failed
        )

    def _on_started(self, url: str) -> None:
        self._url = url
        self._show_board(BoardState.RUNNING)
        open_address(self.workbench, url)

    def _on_start_failed(self, error: MosaicError) -> None:
        lines = error.details.get("stderr_tail") or []
        hint = f" {error.hint[:1].upper()}{error.hint[1:]}" if error.hint else ""
        self._show_board(BoardState.FAILED, f"{error.message}.{hint}", "\n".join(lines))

    def _on_stop(self) -> None:
        self.workbench.bridge.work(self.board.stop, self._on_stopped)

    def _on_stopped(self, _: None) -> None:
        self._show_board(BoardState.OFF)

    def _show_board(self, state: BoardState, problem: str = "", tail: str = "") -> None:
        self.board_state = state
        self._problem = problem
        self.tail.setPlainText(tail)
        self._draw_board()

    _problem = ""

    def _draw_board(self) -> None:
        state = self.board_state
        is_running, is_starting = state is BoardState.RUNNING, state is BoardState.STARTING
        known = self.workbench.state.runs.get(self._shown_run)
        other = "" if self._is_shown() else f" It shows {known.run_name if known else 'a run'}."
        texts = {
            BoardState.OFF: "TensorBoard is not running. It listens on this machine only, and "
            "ends with the window.",
            BoardState.STARTING: "TensorBoard is starting; that takes some seconds…",
            BoardState.RUNNING: f"Running at {self._url}{other}",
            BoardState.ENDED: "TensorBoard has ended by itself. Open it again to go on.",
            BoardState.FAILED: self._problem,
        }
        self.status.setText(texts[state])
        self.tail.setVisible(bool(self.tail.toPlainText()))
        self.open_button.setEnabled(not is_starting)
        self.open_button.setText("Starting…" if is_starting else "Open TensorBoard in the browser")
        self.stop_button.setVisible(is_running)
