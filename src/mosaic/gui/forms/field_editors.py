"""Editors: one widget for each kind of field. They show entries and tell when one is edited."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QToolButton,
    QWidget,
)

from mosaic.gui.forms.model.fields import Field, FieldKind
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.choosers import SearchCombo
from mosaic.gui.widgets.roles import label, set_property, with_role, without_mnemonics

_LINES = 3
_NARROW = (FieldKind.INTEGER, FieldKind.NUMBER, FieldKind.SEEDS)


class LineEditor(QLineEdit):
    edited = Signal(object)
    # Somebody has typed to the end.
    finished = Signal()

    def __init__(self, field: Field) -> None:
        super().__init__()
        if field.kind in _NARROW:
            self.setAlignment(Qt.AlignmentFlag.AlignRight)
            with_role(self, "code")
        self.textEdited.connect(self._on_edited)
        self.editingFinished.connect(self.finished)

    def _on_edited(self, text: str) -> None:
        self.edited.emit(text)

    def show_field(self, field: Field) -> None:
        self.setPlaceholderText(field.placeholder)

    def show_entry(self, entry: Any) -> None:
        text = str(entry)
        if self.text() != text:
            self.setText(text)
            self.setCursorPosition(0)

    def set_invalid(self, is_invalid: bool) -> None:
        set_property(self, "invalid", is_invalid)


class SecretEditor(LineEditor):
    """Dots instead of letters; shown only while somebody asks for it."""

    def __init__(self, field: Field, theme: Theme) -> None:
        super().__init__(field)
        self._theme = theme
        self.setEchoMode(QLineEdit.EchoMode.Password)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self._look = QAction("Show", self)
        self._look.setCheckable(True)
        self._look.toggled.connect(self._on_look_toggled)
        self.addAction(self._look, QLineEdit.ActionPosition.TrailingPosition)
        theme.changed.connect(self._draw)
        self._draw()

    def _on_look_toggled(self, is_shown: bool) -> None:
        modes = QLineEdit.EchoMode
        self.setEchoMode(modes.Normal if is_shown else modes.Password)
        self._draw()

    def _draw(self) -> None:
        name = "eye-off-outline" if self._look.isChecked() else "eye-outline"
        self._look.setIcon(self._theme.icon(name, self._theme.palette.muted))


class LongTextEditor(QPlainTextEdit):
    edited = Signal(object)

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.setTabChangesFocus(True)
        if field.kind in (FieldKind.TEXT_LIST, FieldKind.JSON) or field.name == "command":
            with_role(self, "code")
        height = self.fontMetrics().lineSpacing() * _LINES
        self.setFixedHeight(height + 16)
        self.textChanged.connect(self._on_text_changed)

    def show_field(self, field: Field) -> None:
        self.setPlaceholderText(field.placeholder)

    def show_entry(self, entry: Any) -> None:
        if self.toPlainText() != str(entry):
            with QSignalBlocker(self):
                self.setPlainText(str(entry))

    def set_invalid(self, is_invalid: bool) -> None:
        set_property(self, "invalid", is_invalid)

    def _on_text_changed(self) -> None:
        self.edited.emit(self.toPlainText())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+Enter starts the run wherever the cursor is."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()
        else:
            super().keyPressEvent(event)


class CheckboxEditor(QCheckBox):
    edited = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.clicked.connect(self._on_clicked)

    def _on_clicked(self, is_ticked: bool) -> None:
        self.edited.emit(is_ticked)

    def show_field(self, field: Field) -> None:
        self.setText(without_mnemonics(field.title))

    def show_entry(self, entry: Any) -> None:
        with QSignalBlocker(self):
            self.setChecked(entry is True)

    def set_invalid(self, is_invalid: bool) -> None:
        set_property(self, "invalid", is_invalid)


class ChoiceEditor(SearchCombo):
    edited = Signal(object)

    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field
        self.picked.connect(self._on_picked)

    def show_field(self, field: Field) -> None:
        self._field = field
        self.set_texts(choice.text for choice in field.choices)
        for row, choice in enumerate(field.choices):
            if choice.help:
                self.setItemData(row, choice.help, Qt.ItemDataRole.ToolTipRole)

    def show_entry(self, entry: Any) -> None:
        found = next((item.text for item in self._field.choices if item.value == entry), "")
        self.show_text(found)

    def set_invalid(self, is_invalid: bool) -> None:
        set_property(self, "invalid", is_invalid)

    def _on_picked(self, text: str) -> None:
        for choice in self._field.choices:
            if choice.text == text:
                self.edited.emit(choice.value)


class ChipEditor(QFrame):
    """Words with a cross, which empties the field that they stand for."""

    edited = Signal(object)

    def __init__(self, field: Field, theme: Theme) -> None:
        super().__init__()
        with_role(self, "chip")
        self._theme = theme
        self._text = label()
        self._text.setWordWrap(True)
        self.cross = with_role(QToolButton(), "flat")
        self.cross.setFixedSize(20, 20)
        self.cross.clicked.connect(lambda: self.edited.emit(""))
        self.setFocusProxy(self.cross)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 3, 4, 3)
        layout.setSpacing(4)
        layout.addWidget(self._text, 1)
        layout.addWidget(self.cross, 0, Qt.AlignmentFlag.AlignTop)
        theme.changed.connect(self._draw)
        self._draw()

    @property
    def text(self) -> str:
        return self._text.text()

    def show_field(self, field: Field) -> None:
        self._text.setText(field.default)
        self.cross.setToolTip(field.placeholder)
        self.cross.setAccessibleName(field.placeholder)

    def show_entry(self, entry: Any) -> None:
        """It says what its field says."""

    def set_invalid(self, is_invalid: bool) -> None:
        set_property(self, "invalid", is_invalid)

    def _draw(self) -> None:
        self.cross.setIcon(self._theme.icon("close", self._theme.palette.muted))


_FOLDERS = ("cwd", "folder")


class PathEditor(QWidget):
    edited = Signal(object)

    def __init__(self, field: Field, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._is_folder = field.schema.get("x-editor") == "folder" or field.name in _FOLDERS
        self._line = QLineEdit()
        self._line.textEdited.connect(self._on_edited)
        self._browse = with_role(QToolButton(), "flat")
        self._browse.setAccessibleName(f"Browse for {field.title}")
        self._browse.setToolTip("Browse…")
        self._browse.clicked.connect(self._on_browse)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._line, 1)
        layout.addWidget(self._browse)
        self.setFocusProxy(self._line)
        theme.changed.connect(self._draw)
        self._draw()

    def show_field(self, field: Field) -> None:
        self._line.setPlaceholderText(field.placeholder)
        self._line.setAccessibleName(field.title)

    def show_entry(self, entry: Any) -> None:
        if self._line.text() != str(entry):
            self._line.setText(str(entry))

    def set_invalid(self, is_invalid: bool) -> None:
        set_property(self._line, "invalid", is_invalid)

    def _on_edited(self, text: str) -> None:
        self.edited.emit(text)

    def _on_browse(self) -> None:
        modes = QFileDialog.FileMode
        dialog = QFileDialog(self, "Choose", self._line.text())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(modes.Directory if self._is_folder else modes.ExistingFile)
        dialog.fileSelected.connect(self._on_chosen)
        dialog.open()

    def _on_chosen(self, path: str) -> None:
        self._line.setText(path)
        self.edited.emit(path)

    def _draw(self) -> None:
        name = "folder-open-outline" if self._is_folder else "file-search-outline"
        self._browse.setIcon(self._theme.icon(name, self._theme.palette.muted))


class PlanPathEditor(PathEditor):
    """The file of a plan, and a button that opens it in the editor of plans."""

    edit_asked = Signal()

    def __init__(self, field: Field, theme: Theme) -> None:
        self._edit = with_role(QToolButton(), "flat")
        super().__init__(field, theme)
        self._edit.setAccessibleName(f"Edit {field.title}")
        self._edit.setToolTip("Edit the plan, or write a new one…")
        self._edit.clicked.connect(self.edit_asked)
        layout = self.layout()
        assert layout is not None
        layout.addWidget(self._edit)

    def _draw(self) -> None:
        super()._draw()
        self._edit.setIcon(
            self._theme.icon("file-document-edit-outline", self._theme.palette.muted)
        )


AnyEditor = (
    LineEditor
    | SecretEditor
    | LongTextEditor
    | CheckboxEditor
    | ChoiceEditor
    | PathEditor
    | ChipEditor
)


def make_editor(field: Field, theme: Theme) -> AnyEditor:
    match field.kind:
        case FieldKind.BOOLEAN:
            return CheckboxEditor()
        case FieldKind.CHOICE:
            return ChoiceEditor(field)
        case FieldKind.LONG_TEXT | FieldKind.TEXT_LIST:
            return LongTextEditor(field)
        case FieldKind.SECRET:
            return SecretEditor(field, theme)
        case FieldKind.PATH:
            return PathEditor(field, theme)
        case FieldKind.PLAN:
            return PlanPathEditor(field, theme)
        case FieldKind.CHIP:
            return ChipEditor(field, theme)
        case _:
            return LineEditor(field)
