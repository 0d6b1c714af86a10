"""FormSection: the rows of a form below a heading that opens and closes them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.forms.field_row import FieldRow
from mosaic.gui.state.form_fields import Field
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, set_property, with_role

_ICON = QSize(16, 16)
_GAP = 8


class FormSection(QWidget):
    """Rows are made when they are first seen: a closed section costs nothing."""

    opened = Signal()

    def __init__(self, title: str, theme: Theme, make_row: Callable[[Field], FieldRow]) -> None:
        super().__init__()
        self._title, self._theme, self._make_row = title, theme, make_row
        self._fields: list[Field] = []
        self._rows: dict[str, FieldRow] = {}
        # Rows of fields that are not asked for now, as those of another algorithm.
        self._spare: dict[str, FieldRow] = {}
        self.header: QPushButton | None = None
        self._chevron, self._count = QLabel(), label(role="caption")
        self._body = QWidget()
        self._body_layout = QVBoxLayout(self._body)
        self._body_layout.setContentsMargins(0, 0, 0, 4 if title else 0)
        self._body_layout.setSpacing(_GAP)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        if title:
            self.header = self._make_header()
            layout.addWidget(self.header)
            self._body.hide()
        layout.addWidget(self._body)
        self.draw()

    @property
    def is_open(self) -> bool:
        return self.header is None or self.header.isChecked()

    def open(self) -> None:
        if self.header is not None and not self.header.isChecked():
            self.header.setChecked(True)

    def set_fields(self, fields: list[Field]) -> None:
        self._fields = fields
        self.setVisible(bool(fields))
        if self.is_open:
            self._fill()

    def rows(self) -> list[FieldRow]:
        """Those that exist, from top to bottom."""
        return [self._rows[item.name] for item in self._fields if item.name in self._rows]

    def show_count(self, changed: int, wrong: int) -> None:
        """How many of its fields are not as they were, or cannot stay as they are."""
        if self.header is None:
            return
        found = f"{wrong} wrong" if wrong else f"{changed} changed" if changed else ""
        self._count.setText(found)
        set_property(self._count, "role", "error" if wrong else "caption")
        self.header.setAccessibleName(f"{self._title}, {found}" if found else self._title)

    def draw(self) -> None:
        if self.header is not None:
            name = "chevron-down" if self.header.isChecked() else "chevron-right"
            icon = self._theme.icon(name, self._theme.palette.muted)
            self._chevron.setPixmap(icon.pixmap(_ICON))
        for row in (*self._rows.values(), *self._spare.values()):
            row.draw()

    def _make_header(self) -> QPushButton:
        header = with_role(QPushButton(), "heading")
        header.setObjectName(f"section-{self._title}")
        header.setAccessibleName(self._title)
        header.setCheckable(True)
        layout = QHBoxLayout(header)
        layout.setContentsMargins(0, 0, 4, 0)
        layout.setSpacing(6)
        layout.addWidget(self._chevron)
        layout.addWidget(label(self._title, "heading"), 1)
        layout.addWidget(self._count)
        for part in header.findChildren(QLabel):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        header.toggled.connect(self._on_toggled)
        return header

    def _on_toggled(self, is_open: bool) -> None:
        if is_open:
            self._fill()
            self.opened.emit()
        self._body.setVisible(is_open)
        self.draw()

    def _fill(self) -> None:
        """Rows that still fit are used again: making one takes a hundred times as long."""
        wanted: dict[str, FieldRow] = {}
        for item in self._fields:
            row = self._rows.pop(item.name, None) or self._spare.pop(item.name, None)
            if row is not None and row.can_show(item):
                if row.field != item:
                    row.set_field(item)
            else:
                if row is not None:
                    self._put_away(row)
                    row.deleteLater()
                row = self._make_row(item)
            wanted[item.name] = row
        for row in self._rows.values():
            self._put_away(row)
        self._spare.update(self._rows)
        self._rows = wanted
        for place, row in enumerate(wanted.values()):
            found = self._body_layout.itemAt(place)
            if found is None or found.widget() is not row:
                self._body_layout.insertWidget(place, row)

    def _put_away(self, row: FieldRow) -> None:
        self._body_layout.removeWidget(row)
        row.hide()
