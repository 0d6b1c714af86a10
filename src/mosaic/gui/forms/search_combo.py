"""SearchCombo: a combo box to type into; the list shows what contains the text."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFocusEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QCompleter, QWidget

from mosaic.gui.widgets.roles import with_role

_MOST_SHOWN = 14
# Below this a list is read faster than a word is typed.
_SEARCH_FROM = 9


class SearchCombo(QComboBox):
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
        if not is_searchable:
            return
        completer = QCompleter(self.model(), self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        completer.setMaxVisibleItems(_MOST_SHOWN)
        popup = completer.popup()
        assert popup is not None
        with_role(popup, "popup")
        self.setCompleter(completer)  # a choice from its list is told as `textActivated`
        edit = self.lineEdit()
        assert edit is not None
        edit.returnPressed.connect(self._on_typed)

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
