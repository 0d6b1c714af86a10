"""LogDrawer: what the leading run prints, followed, filtered and searched."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QShowEvent,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.metrics import LogMatch
from mosaic.errors import MosaicError
from mosaic.front.human import amount
from mosaic.gui.runs.model.logs import (
    MOST_LINES,
    STDERR,
    LogLine,
    LogLines,
    LogQuery,
    cut_text,
    matching,
    printable,
)
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label, set_property, with_role
from mosaic.wire.answers import LogChunk


class LogView(QPlainTextEdit):
    """Lines of a log; at its end it follows, elsewhere it stays where it is."""

    follow_changed = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        with_role(self, "log")
        self._theme = theme
        self.is_following = True
        self._is_writing = False
        self.setObjectName("log-view")
        self.setAccessibleName("Log of the run")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(MOST_LINES)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def follow(self, is_following: bool) -> None:
        if is_following != self.is_following:
            self.is_following = is_following
            self.follow_changed.emit(is_following)
        if is_following:
            self._go_to_end()

    def show_lines(self, lines: Sequence[LogLine]) -> None:
        """These and no others."""
        self._is_writing = True
        self.clear()
        self._is_writing = False
        self.add_lines(lines)

    def add_lines(self, lines: Sequence[LogLine]) -> None:
        newest = lines[-MOST_LINES:]
        if not newest:
            return
        self._is_writing = True
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        is_first = self.document().isEmpty()
        # One insertion for a stretch of lines of one stream: a line each would be far dearer.
        for stream, stretch in itertools.groupby(newest, key=lambda line: line.stream):
            text = "\n".join(line.text for line in stretch)
            cursor.insertText(text if is_first else f"\n{text}", self._format(stream))
            is_first = False
        cursor.endEditBlock()
        self._is_writing = False
        if self.is_following:
            self._go_to_end()

    def _format(self, stream: str) -> QTextCharFormat:
        found = QTextCharFormat()
        palette = self._theme.palette
        found.setForeground(QColor(palette.warning if stream == STDERR else palette.text))
        return found

    def _go_to_end(self) -> None:
        bar = self.verticalScrollBar()
        self._is_writing = True
        bar.setValue(bar.maximum())
        self._is_writing = False

    def _on_scrolled(self, value: int) -> None:
        if not self._is_writing:
            self.follow(value >= self.verticalScrollBar().maximum())


_TAIL_LINES = 2_000
_TYPING_MS = 400
_MOST_FOUND = 1_000
_FIELD_WIDTH = 120
_STREAMS = (("", "All"), ("stdout", "Out"), ("stderr", "Err"))


class LogDrawer(QWidget):
    """What the leading run prints, followed, filtered and searched."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "plain")
        self.setObjectName("log-drawer")
        self._workbench = workbench
        self._run_id = ""
        self._lines = LogLines()
        self._received = 0
        self._query = LogQuery()
        self._found: list[LogLine] | None = None  # by a search through everything
        self._streaming: Task | None = None
        self._has_ended = False  # nothing is printed any more
        self._searching: Task | None = None
        self.view = LogView(workbench.theme)
        self.field = QLineEdit()
        self.field.setObjectName("log-filter")
        self.field.setPlaceholderText("filter… or /regex/")
        self.field.setAccessibleName("Filter the log")
        self.field.setToolTip("Lines with this text; Enter searches the whole log")
        self.field.setMinimumWidth(_FIELD_WIDTH)
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._on_typed)
        self.field.returnPressed.connect(self.search)
        self.streams = Segmented(_STREAMS)
        self.streams.chosen.connect(self._on_stream_chosen)
        self.follow_button = self._tool("Follow the end of the log", self._on_follow_clicked)
        self.follow_button.setCheckable(True)
        self.follow_button.setChecked(True)
        self.view.follow_changed.connect(self.follow_button.setChecked)
        self.copy_button = self._tool("Copy what is selected, or all that is shown", self._on_copy)
        self.file_button = self._tool("Open the log's file", self.open_file)
        self._status = label("", "caption")
        self._more = with_role(QPushButton("Open file"), "link")
        self._more.clicked.connect(self.open_file)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_TYPING_MS)
        self._pause.timeout.connect(self.search)
        self._lay_out()
        workbench.theme.changed.connect(self._draw)
        workbench.state.selection_changed.connect(self._on_selection)
        self._draw()

    def _tool(self, title: str, clicked: object) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setToolTip(title)
        button.setAccessibleName(title)
        button.clicked.connect(clicked)
        return button

    def _lay_out(self) -> None:
        bar = QHBoxLayout()
        bar.setContentsMargins(0, 0, 0, 0)
        bar.setSpacing(4)
        bar.addWidget(self.streams)
        bar.addSpacing(4)
        bar.addWidget(self.field, 1)
        for button in (self.follow_button, self.copy_button, self.file_button):
            bar.addWidget(button)
        below = QHBoxLayout()
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(4)
        below.addWidget(self._status)
        below.addWidget(self._more)
        below.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 8)
        layout.setSpacing(4)
        layout.addLayout(bar)
        layout.addLayout(below)
        layout.addWidget(self.view, 1)

    @property
    def status(self) -> str:
        return self._status.text()

    # The log as it comes

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._on_selection(self._workbench.state.selection)

    def hideEvent(self, event: QHideEvent) -> None:
        self._stop()
        self._run_id = ""
        super().hideEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.field.text():
            self.field.clear()
        else:
            super().keyPressEvent(event)

    def show_errors(self) -> None:
        """What a run that failed said last is on stderr."""
        self.streams.choose("stderr")
        self.field.clear()
        self._show_anew()

    def _on_selection(self, selection: tuple[str, ...]) -> None:
        run_id = self._workbench.state.leading_id
        if not self.isVisible() or run_id == self._run_id:
            return
        self._stop()
        self._run_id = run_id
        self._lines.clear()
        self._received = 0
        self._found = None
        self._has_ended = False
        self.view.follow(True)
        self._show_anew()
        if run_id:
            self._streaming = self._workbench.bridge.follow(
                lambda client: client.stream_log(run_id, tail_lines=_TAIL_LINES, follow=True),
                self.take_chunks,
                self._on_ended,
                self.tell_failure,
            )
            if not self._query.is_empty and not self._query.is_local:
                self.search()

    def _stop(self) -> None:
        self._pause.stop()
        for task in (self._streaming, self._searching):
            if task is not None:
                task.cancel()
        self._streaming = self._searching = None

    def take_chunks(self, chunks: list[LogChunk]) -> None:
        added: list[LogLine] = []
        for stream, data in _joined(chunks):
            added += self._lines.feed(stream, data)
        self._take_in(added)

    def _on_ended(self) -> None:
        self._has_ended = True
        self._take_in(self._lines.finish())
        if not self._lines.lines:
            self._tell()

    def tell_failure(self, error: MosaicError) -> None:
        self._status.setText(error.message)

    def _take_in(self, added: list[LogLine]) -> None:
        self._received += len(added)
        if self._found is None:
            self.view.add_lines(self._matching(added))
        self._tell()

    def _matching(self, lines: Sequence[LogLine]) -> list[LogLine]:
        text = self._query.text if self._query.is_local else ""
        return matching(lines, text, self.streams.value)

    def _show_anew(self) -> None:
        lines = self._lines.lines if self._found is None else self._found
        is_search = self._found is not None
        self.view.show_lines(list(lines) if is_search else self._matching(list(lines)))
        self._tell()

    def _tell(self) -> None:
        """Above the lines: why they are not all."""
        text, is_cut = "", False
        if self._query.problem:
            text = self._query.problem
        elif self._found is not None:
            enough = "the first " if len(self._found) >= _MOST_FOUND else ""
            text = f"{enough}{amount(len(self._found), 'line')} of the whole log"
        elif not self._run_id:
            text = "Select a run to see its log"
        elif self._received:
            text = cut_text(self._lines.dropped, self._received >= _TAIL_LINES)
            is_cut = bool(text)
            if not self._query.is_empty and not is_cut:
                text = f"{amount(self._shown_count(), 'line')} with “{self._query.text}”"
        elif self._has_ended:
            text = "This run has printed nothing"
        else:
            text = "Nothing printed so far"
        role = "error" if self._query.problem else "caption"
        set_property(self._status, "role", role)
        self._status.setText(text)
        self._status.setVisible(bool(text))
        self._more.setVisible(is_cut)

    def _shown_count(self) -> int:
        return 0 if self.view.document().isEmpty() else self.view.blockCount()

    # Looking for something

    def _on_typed(self, typed: str) -> None:
        self._query = LogQuery.parse(typed)
        set_property(self.field, "invalid", bool(self._query.problem))
        self._found = None
        self._pause.stop()
        if not self._query.is_local and not self._query.problem:
            self._pause.start()
        self._show_anew()

    def _on_stream_chosen(self, stream: str) -> None:
        if self._found is not None:
            self.search()
        else:
            self._show_anew()

    def search(self) -> None:
        """Through everything the run has printed, by the daemon."""
        self._pause.stop()
        query, run_id, stream = self._query, self._run_id, self.streams.value
        if query.is_empty or query.problem or not run_id:
            return
        if self._searching is not None:
            self._searching.cancel()
        self._found = []
        self._show_anew()
        self._searching = self._workbench.bridge.follow(
            lambda client: client.search_logs(
                query.text,
                (run_id,),
                is_regex=query.is_regex,
                ignore_case=True,
                stream=stream,
                limit=_MOST_FOUND,
            ),
            self._on_matches,
            failed=self.tell_failure,
        )

    def _on_matches(self, matches: list[LogMatch]) -> None:
        if self._found is not None:
            added = [
                LogLine(match.stream, f"{match.line_number:>6}  {printable(match.line)}")
                for match in matches
            ]
            self._found += added
            self.view.add_lines(added)
            self._tell()

    # The buttons

    def _on_follow_clicked(self, is_checked: bool) -> None:
        self.view.follow(is_checked)

    def _on_copy(self) -> None:
        chosen = self.view.textCursor().selectedText().replace("\u2029", "\n")
        QGuiApplication.clipboard().setText(chosen or self.view.toPlainText())
        self._workbench.state.say(Notice("Log copied"))

    def open_file(self) -> None:
        details = self._workbench.state.details
        if details is None or not details.paths:
            return
        stream = self.streams.value or "stdout"
        path = Path(details.paths.get(f"{stream}_log", ""))
        if not path.is_file():
            self._workbench.state.say(Notice(f"{path} is not on this machine."))
            return
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    def _draw(self) -> None:
        theme = self._workbench.theme
        for button, name in (
            (self.follow_button, "arrow-collapse-down"),
            (self.copy_button, "content-copy"),
            (self.file_button, "open-in-new"),
        ):
            button.setIcon(theme.icon(name))
        self._show_anew()


def _joined(chunks: list[LogChunk]) -> list[tuple[str, bytes]]:
    """Neighbours of one stream as one piece: a flood of small ones costs no more."""
    found: list[tuple[str, list[bytes]]] = []
    for chunk in chunks:
        if found and found[-1][0] == chunk.stream:
            found[-1][1].append(chunk.data)
        else:
            found.append((chunk.stream, [chunk.data]))
    return [(stream, b"".join(pieces)) for stream, pieces in found]
