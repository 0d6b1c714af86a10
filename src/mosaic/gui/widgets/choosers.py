"""Widgets to choose with: a few choices side by side, a long list to search, a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QFontMetrics,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QCompleter,
    QFileDialog,
    QHBoxLayout,
    QListView,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from mosaic.gui.widgets.roles import with_role

_PADDING = 20  # beside the text, with the border


class Segmented(QWidget):
    """A few choices side by side, exactly one of them taken."""

    chosen = Signal(str)  # by the person, not by `choose`

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        """`choices` are pairs of a value and what it is called."""
        super().__init__(parent)
        with_role(self, "segmented")
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 2, 2, 2)
        layout.setSpacing(2)
        for value, text in choices:
            button = with_role(QPushButton(text), "segment")
            button.setCheckable(True)
            button.setAccessibleName(text)
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.setMinimumWidth(_width_of(button))
            button.clicked.connect(lambda _=False, value=value: self.chosen.emit(value))
            self._group.addButton(button)
            self._buttons[value] = button
            layout.addWidget(button)
        if choices:
            self.choose(choices[0][0])

    @property
    def value(self) -> str:
        return next((value for value, item in self._buttons.items() if item.isChecked()), "")

    def choose(self, value: str) -> None:
        if value in self._buttons:
            self._buttons[value].setChecked(True)

    def button(self, value: str) -> QPushButton:
        return self._buttons[value]


def _width_of(button: QPushButton) -> int:
    """The one that is taken is bold, which the width that Qt asks for does not know."""
    font = button.font()
    font.setWeight(QFont.Weight.DemiBold)
    return QFontMetrics(font).horizontalAdvance(button.text()) + _PADDING


_MOST_SHOWN = 14
# Below this a list is read faster than a word is typed.
_SEARCH_FROM = 9


class _Suggestions(QListView):
    """As high as its lines and its border: a completer counts the lines alone."""

    def updateGeometries(self) -> None:
        super().updateGeometries()
        model = self.model()
        lines = min(model.rowCount(), _MOST_SHOWN) if model is not None else 0
        border = 2 * self.frameWidth()
        self.setFixedHeight(lines * max(0, self.sizeHintForRow(0)) + border)


class SearchCombo(QComboBox):
    """A combo box to type into: a click shows the whole list, and what is typed searches it."""

    picked = Signal(str)  # by the person: the text of an item, or a text of their own

    def __init__(self, *, takes_any_text: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._takes_any_text = takes_any_text
        self._shown = ""
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(4)
        self.setMaxVisibleItems(_MOST_SHOWN)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.textActivated.connect(self._on_activated)

    def set_texts(self, texts: Iterable[str]) -> None:
        items = list(texts)
        if items == [self.itemText(row) for row in range(self.count())]:
            return
        with QSignalBlocker(self):
            self.clear()
            self.addItems(items)
            self._make_searchable(self._takes_any_text or len(items) >= _SEARCH_FROM)
        self.show_text(self._shown)

    def show_text(self, text: str) -> None:
        self._shown = text
        row = self.findText(text, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive)
        with QSignalBlocker(self):
            self.setCurrentIndex(row)
            if self.isEditable() and self.currentText() != text:
                self.setEditText(text)
        edit = self.lineEdit()
        if edit is not None and not edit.hasFocus():
            edit.setCursorPosition(0)  # the beginning of an id says more than its end

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # it scrolls the form; a value shall not change in passing

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if self.isEditable() and not self._is_choosing():
            self._on_typed()

    def showPopup(self) -> None:
        view = self.view()
        widest = view.sizeHintForColumn(0) if self.count() else 0
        view.setMinimumWidth(max(self.width(), widest + 32))
        super().showPopup()

    def _is_choosing(self) -> bool:
        completer = self.completer()
        popup = completer.popup() if completer is not None else None
        return popup is not None and popup.isVisible()

    def _make_searchable(self, is_searchable: bool) -> None:
        if is_searchable == self.isEditable():
            return
        self.setEditable(is_searchable)
        edit = self.lineEdit()
        if edit is None:
            return
        edit.installEventFilter(self)
        completer = QCompleter(self.model(), self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        completer.setMaxVisibleItems(_MOST_SHOWN)
        completer.setPopup(with_role(_Suggestions(), "popup"))
        self.setCompleter(completer)  # a choice from its list is told as `textActivated`
        edit.returnPressed.connect(self._on_typed)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.lineEdit() and event.type() is QEvent.Type.MouseButtonRelease:
            QTimer.singleShot(0, self, self._offer_all)  # when the text has had the click
        return super().eventFilter(watched, event)

    def _offer_all(self) -> None:
        edit, completer = self.lineEdit(), self.completer()
        if edit is None or completer is None:
            return
        if edit.hasSelectedText() or edit.text() != self._shown:
            return  # the person marks a part of it, or types
        edit.selectAll()
        completer.setCompletionPrefix("")
        completer.complete()

    def _on_activated(self, text: str) -> None:
        if text != self._shown:
            self._shown = text
            self.picked.emit(text)

    def _on_typed(self) -> None:
        """Enter, or off to the next field: what is meant by what was typed?"""
        text = self.currentText().strip()
        if text == self._shown:
            return
        found = text if self._takes_any_text else self._nearest(text)
        if found is None:
            self.show_text(self._shown)
        else:
            self.show_text(found)
            self.picked.emit(found)

    def _nearest(self, text: str) -> str | None:
        for flags in (Qt.MatchFlag.MatchFixedString, Qt.MatchFlag.MatchContains):
            row = self.findText(text, flags) if text else -1
            if row >= 0:
                return self.itemText(row)
        return None


def ask_for_file(
    parent: QWidget,
    title: str,
    pattern: str,
    chosen: Callable[[Path], None],
    *,
    suggested: str = "",
    is_new: bool = False,
) -> QFileDialog:
    """`pattern` as in "Video (*.mp4)"; `is_new` for a file to be written."""
    dialog = QFileDialog(parent, title, suggested, pattern)
    dialog.setObjectName("file-chooser")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setModal(False)
    modes, accepts = QFileDialog.FileMode, QFileDialog.AcceptMode
    dialog.setFileMode(modes.AnyFile if is_new else modes.ExistingFile)
    dialog.setAcceptMode(accepts.AcceptSave if is_new else accepts.AcceptOpen)
    if is_new and "." in Path(suggested).name:
        dialog.setDefaultSuffix(Path(suggested).suffix[1:])
    dialog.fileSelected.connect(lambda path: chosen(Path(path)))
    dialog.show()
    return dialog
