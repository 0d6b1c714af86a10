"""BesideChooser: a list to search for the episode that shall be shown beside another."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from mosaic.gui.replay.model.beside import BesideChoice
from mosaic.gui.widgets.roles import label, with_role

_WIDTH, _HEIGHT, _EDGE, _ROW = 360, 320, 8, 26


class _Field(QLineEdit):
    moved = Signal(int)
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Down | Qt.Key.Key_Up:
                self.moved.emit(1 if event.key() == Qt.Key.Key_Down else -1)
            case Qt.Key.Key_Escape:
                self.left.emit()
            case _:
                super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.ActiveWindowFocusReason:
            self.left.emit()


class BesideChooser(QWidget):
    """Lies over the page; closes as soon as something is chosen, or the keyboard goes elsewhere."""

    chosen = Signal(object)  # BesideChoice

    def __init__(self, page: QWidget, choices: Callable[[str], list[BesideChoice]]) -> None:
        super().__init__(page)
        with_role(self, "overlay")
        self.setObjectName("beside-chooser")
        self._choices = choices
        self._shown: list[BesideChoice] = []
        self.field = _Field()
        self.field.setPlaceholderText("Number of an episode, or words of a run's name")
        self.field.setAccessibleName("Search for an episode")
        self.list = QListWidget()
        self.list.setObjectName("beside-list")
        self.list.setAccessibleName("Episodes to show beside")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(8)
        layout.addWidget(label("Show beside it", "section"))
        layout.addWidget(self.field)
        layout.addWidget(self.list, 1)
        self.field.textChanged.connect(self._fill)
        self.field.returnPressed.connect(self._on_taken)
        self.field.moved.connect(self._on_moved)
        self.field.left.connect(self.hide)
        self.list.itemClicked.connect(lambda _: self._on_taken())
        self.hide()

    @property
    def shown(self) -> list[BesideChoice]:
        return self._shown

    def open(self, below: QWidget) -> None:
        page = self.parentWidget()
        assert page is not None
        width = min(_WIDTH, page.width() - 2 * _EDGE)
        corner = below.mapTo(page, QPoint(below.width() - width, below.height() + 4))
        top = corner.y()
        self.setGeometry(
            max(_EDGE, corner.x()), top, width, min(_HEIGHT, page.height() - top - _EDGE)
        )
        self.field.clear()
        self._fill("")
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def _fill(self, text: str) -> None:
        self._shown = self._choices(text)
        self.list.clear()
        for choice in self._shown:
            item = QListWidgetItem(f"{choice.title} · {choice.note}")
            item.setToolTip(item.text())
            item.setSizeHint(QSize(0, _ROW))
            self.list.addItem(item)
        if self._shown:
            self.list.setCurrentRow(0)

    def _on_moved(self, by: int) -> None:
        if self._shown:
            self.list.setCurrentRow((self.list.currentRow() + by) % len(self._shown))

    def _on_taken(self) -> None:
        row = self.list.currentRow()
        if 0 <= row < len(self._shown):
            choice = self._shown[row]
            self.hide()
            self.chosen.emit(choice)
