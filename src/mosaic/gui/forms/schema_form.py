"""SchemaForm: draws a FormState, which decides what is asked for and what is wrong."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.forms.field_row import FieldRow
from mosaic.gui.forms.model.fields import Field, entry_of
from mosaic.gui.forms.model.form_state import FormState
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, set_property, with_role

_ICON = QSize(16, 16)
_SECTION_GAP = 8


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
        self._body_layout.setSpacing(_SECTION_GAP)
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

    def show_count(self, changed: int, wrong: int, given: int = 0) -> None:
        """How many of its fields are not as they were, or cannot stay as they are.

        `given`: how many have their value from somewhere else, as from a recipe.
        """
        if self.header is None:
            return
        parts = [f"{given} from the recipe"] if given else []
        parts += [f"{changed} changed"] if changed else []
        found = f"{wrong} wrong" if wrong else ", ".join(parts)
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


_GAP = 4


class SchemaForm(QWidget):
    """Draws a FormState. What is asked for and what is wrong is decided there."""

    rearranged = Signal()  # rows came or went: whoever orders the tab keys looks again
    edit_asked = Signal(str)  # of a field, in a window of its own

    def __init__(self, form: FormState, theme: Theme) -> None:
        super().__init__()
        self._form, self._theme = form, theme
        self._sections: dict[str, FormSection] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(_GAP)
        form.changed.connect(self._on_changed)
        form.fields_changed.connect(self._on_fields_changed)
        theme.changed.connect(self._draw)
        self._on_fields_changed()

    @property
    def form(self) -> FormState:
        return self._form

    def row(self, name: str) -> FieldRow | None:
        """None while its section was never open."""
        return next((row for row in self.rows() if row.field.name == name), None)

    def rows(self) -> list[FieldRow]:
        return [row for section in self._sections.values() for row in section.rows()]

    def section(self, title: str) -> FormSection:
        return self._sections[title]

    def reveal(self, name: str) -> FieldRow | None:
        """Opens the section of a field and puts the cursor into it."""
        if name not in self._form:
            return None
        self._sections[self._form.field(name).section].open()
        found = self.row(name)
        if found is not None:
            found.editor.setFocus()
        return found

    def order_tabs(self, before: QWidget | None = None) -> QWidget | None:
        """From top to bottom, after `before`; returns the last one."""
        for section in self._sections.values():
            if section.header is not None:
                before = _after(before, section.header)
            for row in section.rows():
                for widget in row.focusables():
                    before = _after(before, widget)
        return before

    def _on_fields_changed(self) -> None:
        fields: dict[str, list[Field]] = {}
        for item in self._form.fields:
            fields.setdefault(item.section, []).append(item)
        for title in fields:
            if title not in self._sections:
                self._sections[title] = self._make_section(title)
        for place, title in enumerate(fields):
            section = self._sections[title]
            found = self._layout.itemAt(place)
            if found is None or found.widget() is not section:
                self._layout.insertWidget(place, section)
        for title, section in self._sections.items():
            section.set_fields(fields.get(title, []))
        self._sections = {title: self._sections[title] for title in self._ordered(fields)}
        self._show_entries()
        self.rearranged.emit()

    def _ordered(self, fields: dict[str, list[Field]]) -> list[str]:
        return [*fields, *(title for title in self._sections if title not in fields)]

    def _make_section(self, title: str) -> FormSection:
        section = FormSection(title, self._theme, self._make_row)
        section.opened.connect(self._on_opened)
        return section

    def _make_row(self, field: Field) -> FieldRow:
        row = FieldRow(field, self._theme)
        row.edited.connect(self._form.set)
        row.reset_asked.connect(self._form.reset)
        row.finished.connect(self._form.tidy)
        row.edit_asked.connect(self.edit_asked)
        return row

    def _on_opened(self) -> None:
        self._show_entries()
        self.rearranged.emit()

    def _on_changed(self, name: str) -> None:
        self._show_entries()

    def look_again(self) -> None:
        """What is right may depend on what is chosen elsewhere."""
        self._show_entries()

    def _show_entries(self) -> None:
        """All of them: a change of one field can make another one wrong, or useless."""
        form = self._form
        errors = form.validate()
        for title, section in self._sections.items():
            for row in section.rows():
                name = row.field.name
                default = str(entry_of(row.field, row.field.default))
                row.setVisible(form.is_shown(name))
                row.show_entry(form.entry(name), form.is_changed(name), default)
                row.show_error(errors.get(name, ""))
            own = [item.name for item in form.fields if item.section == title]
            section.show_count(
                sum(form.is_changed(name) for name in own if form.is_shown(name)),
                sum(name in errors for name in own),
                sum(bool(form.field(name).origin) and not form.is_changed(name) for name in own),
            )

    def _draw(self) -> None:
        for section in self._sections.values():
            section.draw()


def _after(before: QWidget | None, widget: QWidget) -> QWidget:
    if before is not None:
        QWidget.setTabOrder(before, widget)
    return widget
