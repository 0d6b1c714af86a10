"""FieldRow: a field's title, its editor, its help, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from mosaic.gui.forms.field_editors import (
    AnyEditor,
    ChipEditor,
    LineEditor,
    PlanPathEditor,
    make_editor,
)
from mosaic.gui.forms.model.fields import Field, FieldKind
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role, without_mnemonics

# Beside the title there is room for a number or a word.
_BESIDE = (FieldKind.INTEGER, FieldKind.NUMBER, FieldKind.SEEDS)
_EDITOR_WIDTH = 112
_BUTTON = QSize(18, 18)
_ICON = QSize(14, 14)
_LONGEST_CAPTION = 46
_LONGEST_WORD = 12
_TICK = 24


class FieldRow(QWidget):
    edited = Signal(str, object)  # name and entry
    reset_asked = Signal(str)
    finished = Signal(str)
    edit_asked = Signal(str)  # in a window of its own

    def __init__(self, field: Field, theme: Theme) -> None:
        super().__init__()
        self._field, self._theme = field, theme
        self.setObjectName(f"field-{field.name}")
        self.editor: AnyEditor = make_editor(field, theme)
        self.editor.setObjectName(f"editor-{field.name}")
        self._title: QLabel | None = None
        self._unit: QLabel | None = None
        self._caption: QLabel | None = None
        self._error: QLabel | None = None
        self._reset = with_role(QToolButton(), "reset")
        self._reset.setFixedSize(_BUTTON)
        self._reset.setIconSize(_ICON)
        policy = self._reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # nothing moves when it comes and goes
        self._reset.setSizePolicy(policy)
        self._reset.hide()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._arrange()
        self.editor.edited.connect(self._on_edited)
        if isinstance(self.editor, LineEditor):
            self.editor.finished.connect(self._on_finished)
        if isinstance(self.editor, PlanPathEditor):
            self.editor.edit_asked.connect(lambda: self.edit_asked.emit(self._field.name))
        self._reset.clicked.connect(self._on_reset)
        self.set_field(field)
        self.draw()

    @property
    def field(self) -> Field:
        return self._field

    def can_show(self, field: Field) -> bool:
        """Whether this row can be used for another field: the same, perhaps with new defaults."""
        mine = self._field
        return (field.name, field.kind, _is_beside(field), bool(field.unit)) == (
            mine.name,
            mine.kind,
            _is_beside(mine),
            bool(mine.unit),
        )

    def set_field(self, field: Field) -> None:
        self._field = field
        if self._title is not None:
            self._title.setText(without_mnemonics(field.title))
        if self._unit is not None:
            self._unit.setText(field.unit)
        self.editor.show_field(field)
        self.editor.setAccessibleName(field.title)
        self.editor.setEnabled(not field.disabled_reason)
        self.editor.setToolTip(field.tooltip)
        if self._title is not None:
            self._title.setToolTip(field.tooltip)
        self._reset.setAccessibleName(f"Reset {field.title}")
        caption = field.help if len(field.help) <= _LONGEST_CAPTION else ""
        self._show_caption(" · ".join(part for part in (field.origin, caption) if part))

    def show_entry(self, entry: Any, is_changed: bool, default: str) -> None:
        self.editor.show_entry(entry)
        self._reset.setVisible(is_changed)
        if is_changed:
            self._reset.setToolTip(f"Back to {default}" if default else "Back to the default")

    def show_error(self, text: str) -> None:
        self.editor.set_invalid(bool(text))
        if self._error is None:
            if not text:
                return
            self._error = label(role="error")
            self._error.setObjectName(f"error-{self._field.name}")
            self._error.setWordWrap(True)
            self._layout.addWidget(self._error)
        self._error.setText(text)
        self._error.setVisible(bool(text))

    @property
    def error_text(self) -> str:
        return self._error.text() if self._error is not None else ""

    def draw(self) -> None:
        self._reset.setIcon(self._theme.icon("restore", self._theme.palette.accent))

    def focusables(self) -> list[QWidget]:
        if isinstance(self.editor, ChipEditor):
            return [self.editor.cross]
        return [self.editor, self._reset]

    def _arrange(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(4)
        self._layout.addLayout(top)
        if self._field.kind is FieldKind.CHIP:
            self._reset.setParent(self)  # never shown: the cross does as much
            top.addWidget(self.editor, 1)
            return
        if self._field.kind is FieldKind.BOOLEAN:
            top.addWidget(self.editor, 1)
            top.addWidget(self._reset)
            return
        self._title = label()
        self._title.setWordWrap(True)
        self._title.setBuddy(self.editor)
        top.addWidget(self._title, 1)
        top.addWidget(self._reset)
        if not _is_beside(self._field):
            self._layout.addWidget(self.editor)
            return
        if self._field.unit:
            self._unit = label(role="muted")
            self.editor.setFixedWidth(_EDITOR_WIDTH - 28)
            top.addWidget(self.editor)
            self._unit.setFixedWidth(24)
            top.addWidget(self._unit)
        else:
            self.editor.setFixedWidth(_EDITOR_WIDTH)
            top.addWidget(self.editor)

    def _show_caption(self, text: str) -> None:
        if self._caption is None:
            if not text:
                return
            self._caption = label(role="caption")
            self._caption.setWordWrap(True)
            if self._field.kind is FieldKind.BOOLEAN:
                self._caption.setIndent(_TICK)  # below the words, not below the box
            self._layout.insertWidget(self._layout.count(), self._caption)
            if self._error is not None:
                self._layout.addWidget(self._error)
        self._caption.setText(text)
        self._caption.setVisible(bool(text))

    def _on_edited(self, entry: object) -> None:
        self.edited.emit(self._field.stands_for or self._field.name, entry)

    def _on_finished(self) -> None:
        self.finished.emit(self._field.name)

    def _on_reset(self) -> None:
        self.editor.setFocus()
        self.reset_asked.emit(self._field.name)


def _is_beside(field: Field) -> bool:
    if field.kind in _BESIDE:
        return True
    return field.kind is FieldKind.CHOICE and all(
        len(choice.text) <= _LONGEST_WORD for choice in field.choices
    )
