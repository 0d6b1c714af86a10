"""The cards of the welcome page: examples, what the doctor says, the newest runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPixmap
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.state.examples import Example
from mosaic.gui.theme.theme import Theme
from mosaic.gui.welcome.model import CheckRow, CheckVerdict, RecentRun, summary
from mosaic.gui.widgets.indicators import StateBadge
from mosaic.gui.widgets.roles import eliding_label, label, with_role, without_mnemonics

_EXAMPLE_ICON = QSize(28, 28)
_BUTTON_WIDTH = 76


class ExampleCard(QWidget):
    """One example that starts with a click."""

    started = Signal(object)  # Example

    def __init__(self, theme: Theme, example: Example, is_first: bool) -> None:
        super().__init__()
        with_role(self, "card")
        self._theme, self.example = theme, example
        self._picture = QLabel()
        title, text = label(example.title, "section"), label(example.text, "muted")
        self.obstacle = label("", "warning")
        for words in (title, text, self.obstacle):
            words.setWordWrap(True)
        self.obstacle.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton(example.button)
        if is_first:
            with_role(self.button, "primary")
        self.button.setFixedWidth(_BUTTON_WIDTH)
        self.button.setAccessibleName(example.title)
        self.button.setToolTip(example.title)
        self.button.clicked.connect(self._on_clicked)
        words_layout = QVBoxLayout()
        words_layout.setSpacing(2)
        for widget in (title, text, self.obstacle):
            words_layout.addWidget(widget)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(16)
        layout.addWidget(self._picture)
        layout.addLayout(words_layout, 1)
        layout.addWidget(self.button)
        theme.changed.connect(self._draw)
        self.show_obstacle("")

    def show_obstacle(self, text: str) -> None:
        """An empty text: nothing stands in its way."""
        self.obstacle.setText(text)
        self.obstacle.setVisible(bool(text))
        self.button.setEnabled(not text)
        shape = Qt.CursorShape.ArrowCursor if text else Qt.CursorShape.PointingHandCursor
        self.setCursor(shape)
        self._draw()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        is_here = self.rect().contains(event.position().toPoint())
        if is_here and event.button() == Qt.MouseButton.LeftButton:
            self.button.click()

    def _on_clicked(self) -> None:
        self.started.emit(self.example)

    def _draw(self) -> None:
        palette = self._theme.palette
        colour = palette.accent if self.button.isEnabled() else palette.muted
        self._picture.setPixmap(self._theme.icon(self.example.icon, colour).pixmap(_EXAMPLE_ICON))


_ICON = QSize(16, 16)
_ICONS = {
    CheckVerdict.OK: "check-circle-outline",
    CheckVerdict.WARNING: "alert-outline",
    CheckVerdict.FAILURE: "close-circle-outline",
    CheckVerdict.WAITING: "timer-sand",
}


class ChecksCard(QWidget):
    """What the doctor says, one line, and all of it when it is opened."""

    asked_again = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "card")
        self._theme = theme
        self._rows: tuple[CheckRow, ...] = ()
        self._is_open: bool | None = None  # None: nobody has said, so problems open it
        self._picture, self.summary = QLabel(), label()
        self.summary.setWordWrap(True)
        self.fold_button = with_role(QPushButton("Show"), "flat")
        self.fold_button.setAccessibleName("Show or hide what was checked")
        self.fold_button.clicked.connect(self._on_fold)
        self.again_button = with_role(QPushButton("Check again"), "flat")
        self.again_button.clicked.connect(self.asked_again)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self._picture)
        top.addWidget(self.summary, 1)
        top.addWidget(self.again_button)
        top.addWidget(self.fold_button)
        self.content = with_role(QWidget(), "plain")
        self._grid = QGridLayout(self.content)
        self._grid.setContentsMargins(0, 4, 0, 4)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(2, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 6, 8, 6)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.content)
        theme.changed.connect(self._draw)
        self.show_rows(())

    @property
    def rows(self) -> tuple[CheckRow, ...]:
        return self._rows

    def show_rows(self, rows: Sequence[CheckRow]) -> None:
        self._rows = tuple(rows)
        self._draw()

    def unfold(self) -> None:
        self._is_open = True
        self._draw()

    def _on_fold(self) -> None:
        self._is_open = self.content.isHidden()
        self._draw()

    def _draw(self) -> None:
        whole = summary(self._rows)
        self._picture.setPixmap(self._pixmap(whole.verdict))
        self.summary.setText(whole.text)
        is_open = whole.verdict is CheckVerdict.FAILURE if self._is_open is None else self._is_open
        self.fold_button.setText("Hide" if is_open else "Show")
        self.content.setVisible(is_open)
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for number, row in enumerate(self._rows):
            self._add(number, row)

    def _add(self, number: int, row: CheckRow) -> None:
        picture = QLabel()
        picture.setPixmap(self._pixmap(row.verdict))
        picture.setAccessibleName(row.verdict.value)
        text = label(f"{row.text}\n{row.fix}" if row.fix else row.text, "muted")
        text.setWordWrap(True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        top = Qt.AlignmentFlag.AlignTop
        self._grid.addWidget(picture, number, 0, top)
        self._grid.addWidget(label(row.title), number, 1, top)
        self._grid.addWidget(text, number, 2)

    def _pixmap(self, verdict: CheckVerdict) -> QPixmap:
        palette = self._theme.palette
        colours = {
            CheckVerdict.OK: palette.good,
            CheckVerdict.WARNING: palette.warning,
            CheckVerdict.FAILURE: palette.bad,
            CheckVerdict.WAITING: palette.muted,
        }
        return self._theme.icon(_ICONS[verdict], colours[verdict]).pixmap(_ICON)


class BundlesCard(QWidget):
    """What workers and games need, in a line, and the way to the page with all of it."""

    asked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "card")
        self._theme = theme
        self._picture, self.summary = QLabel(), label()
        self.summary.setWordWrap(True)
        self.button = with_role(QPushButton("Bundles"), "flat")
        self.button.setToolTip("Install what workers and environments need")
        self.button.clicked.connect(self.asked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 6, 8, 6)
        layout.setSpacing(8)
        layout.addWidget(self._picture)
        layout.addWidget(self.summary, 1)
        layout.addWidget(self.button)
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    def show_summary(self, text: str) -> None:
        """Nothing is shown where there are none."""
        self.summary.setText(text)
        self.setVisible(bool(text))

    def _draw(self) -> None:
        icon = self._theme.icon("package-variant-closed", self._theme.palette.muted)
        self._picture.setPixmap(icon.pixmap(_ICON))


_BADGE_WIDTH = 96
_MOST_NAME_WIDTH = 180


class RecentRunsCard(QWidget):
    """The newest runs, each a click away."""

    chosen = Signal(str)  # run id

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "card")
        self._theme = theme
        self._shown: tuple[RecentRun, ...] = ()
        self.buttons: dict[str, QPushButton] = {}
        self._rows = QWidget()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(16, 10, 8, 8)
        self._layout.setSpacing(4)
        self._layout.addWidget(label("Recent runs", "section"))
        self._layout.addWidget(self._rows)
        self.hide()

    def show_runs(self, runs: Sequence[RecentRun]) -> None:
        """Nothing is shown where there is none."""
        if tuple(runs) == self._shown:
            return
        self._shown = tuple(runs)
        self.buttons = {}
        rows = with_role(QWidget(), "plain")
        layout = QVBoxLayout(rows)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for run in runs:
            layout.addLayout(self._row(run))
        self._layout.replaceWidget(self._rows, rows)
        self._rows.deleteLater()
        self._rows = rows
        self.setVisible(bool(runs))

    def _row(self, run: RecentRun) -> QHBoxLayout:
        badge = StateBadge(self._theme, run.word)
        badge.setFixedWidth(_BADGE_WIDTH)
        button = with_role(QPushButton(), "flat")
        # A button does not shorten its text: one long name would make the page too wide to be seen.
        middle = Qt.TextElideMode.ElideMiddle
        name = button.fontMetrics().elidedText(run.name, middle, _MOST_NAME_WIDTH)
        button.setText(without_mnemonics(name))
        button.setToolTip(f"Show {run.name}")
        button.clicked.connect(partial(self.chosen.emit, run.run_id))
        self.buttons[run.run_id] = button
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(badge)
        row.addWidget(button)
        detail = eliding_label(run.detail, "caption")
        detail.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(detail, 1)
        row.addSpacing(8)
        return row
