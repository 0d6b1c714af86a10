"""SchemaForm: draws a FormState. What is asked for and what is wrong is decided there."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.gui.forms.field_row import FieldRow
from mosaic.gui.forms.form_section import FormSection
from mosaic.gui.state.form_entries import entry_of
from mosaic.gui.state.form_fields import Field
from mosaic.gui.state.form_state import FormState
from mosaic.gui.theme.theme import Theme

_GAP = 4


class SchemaForm(QWidget):
    rearranged = Signal()  # rows came or went: whoever orders the tab keys looks again

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
        return row

    def _on_opened(self) -> None:
        self._show_entries()
        self.rearranged.emit()

    def _on_changed(self, name: str) -> None:
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
            )

    def _draw(self) -> None:
        for section in self._sections.values():
            section.draw()


def _after(before: QWidget | None, widget: QWidget) -> QWidget:
    if before is not None:
        QWidget.setTabOrder(before, widget)
    return widget
