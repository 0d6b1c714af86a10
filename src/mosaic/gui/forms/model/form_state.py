"""FormState: what a form holds: entries, the values they stand for, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from psygnal import Signal

from mosaic.gui.forms.model.fields import (
    EntryError,
    Field,
    FieldKind,
    by_name,
    entry_of,
    read_entry,
)

# What is wrong between fields: the name of one of them and a sentence.
Rules = Callable[[Mapping[str, Any]], Mapping[str, str]]


class FormState:
    """Only entries that somebody changed are kept: the rest follows the defaults of the fields."""

    changed = Signal(str)  # the name of a field whose entry or error is another one now
    fields_changed = Signal()

    def __init__(self, fields: Iterable[Field] = (), rules: Rules | None = None) -> None:
        self._fields = by_name(fields)
        self._rules = rules
        self._entries: dict[str, Any] = {}
        # What the daemon said about a field; true until the field is changed.
        self._marks: dict[str, str] = {}

    # Fields

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(self._fields.values())

    def field(self, name: str) -> Field:
        return self._fields[name]

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def set_fields(self, fields: Iterable[Field]) -> None:
        """What was entered stays where there still is such a field, and waits where not."""
        found = by_name(fields)
        if found == self._fields:
            return
        self._fields = found
        self._marks.clear()
        self.fields_changed.emit()

    def is_shown(self, name: str) -> bool:
        shown = self._fields[name].shown
        return shown is None or (
            shown.when in self._fields
            and self.is_shown(shown.when)
            and self.value(shown.when) == shown.is_
        )

    # Entries

    def entry(self, name: str) -> Any:
        field = self._fields[name]
        return self._entries.get(name, entry_of(field, field.default))

    def waiting_entry(self, name: str) -> Any:
        """What was entered, also while there is no such field; None where nothing was."""
        return self._entries.get(name)

    def set(self, name: str, entry: Any) -> None:
        field = self._fields[name]
        if name not in self._marks and self.entry(name) == entry:
            return
        if entry == entry_of(field, field.default):
            self._entries.pop(name, None)
        else:
            self._entries[name] = entry
        self._marks.pop(name, None)
        self.changed.emit(name)

    def tidy(self, name: str) -> None:
        """Shows a whole number as all others are shown: `1M` as `1,000,000`."""
        field = self._fields.get(name)
        if field is None or field.kind is not FieldKind.INTEGER or name not in self._entries:
            return
        try:
            self.set(name, entry_of(field, self._read(name)))
        except EntryError:
            return  # it stays as it is, with what is wrong with it

    def is_changed(self, name: str) -> bool:
        """By what it means: `5e5` is the default when that is 500,000."""
        if name not in self._entries:
            return False
        try:
            return bool(self._read(name) != self._fields[name].default)
        except EntryError:
            return True

    def reset(self, name: str) -> None:
        if self._entries.pop(name, None) is not None or self._marks.pop(name, None) is not None:
            self._marks.pop(name, None)
            self.changed.emit(name)

    def reset_all(self) -> None:
        names = {*self._entries, *self._marks}
        self._entries.clear()
        self._marks.clear()
        for name in names & set(self._fields):
            self.changed.emit(name)

    def load(self, values: Mapping[str, Any]) -> list[str]:
        """Fills fields from values, as of a preset; returns the names that did not fit."""
        refused = []
        for name, value in values.items():
            if name not in self._fields:
                refused.append(str(name))
                continue
            field = self._fields[name]
            entry = entry_of(field, value)
            if field.kind is FieldKind.CHOICE or isinstance(entry, bool) == (
                field.kind is FieldKind.BOOLEAN
            ):
                try:
                    read_entry(field, entry)
                except EntryError:
                    refused.append(name)
                    continue
                self.set(name, entry)
            else:
                refused.append(name)
        return refused

    def take_out(self, names: Iterable[str]) -> dict[str, Any]:
        """Removes the entries of these fields and returns them, for `put_back`."""
        return {name: self._entries.pop(name) for name in names if name in self._entries}

    def put_back(self, entries: Mapping[str, Any]) -> None:
        self._entries.update(entries)

    # Values

    def value(self, name: str) -> Any:
        """The default while the entry cannot be read."""
        try:
            return self._read(name)
        except EntryError:
            return self._fields[name].default

    def values(self) -> dict[str, Any]:
        """Of all fields that are shown, secrets too."""
        return {name: self.value(name) for name in self._fields if self.is_shown(name)}

    def changed_values(self, *, has_secrets: bool = True) -> dict[str, Any]:
        return {
            name: self.value(name)
            for name, field in self._fields.items()
            if self.is_shown(name)
            and self.is_changed(name)
            and (has_secrets or field.kind is not FieldKind.SECRET)
        }

    # Errors

    def mark(self, name: str, message: str) -> None:
        self._marks[name] = message
        self.changed.emit(name)

    def error(self, name: str) -> str:
        return self.validate().get(name, "")

    def validate(self) -> dict[str, str]:
        """What is wrong, by field, in the order of the fields."""
        errors: dict[str, str] = {}
        for name in self._fields:
            if not self.is_shown(name):
                continue
            try:
                self._read(name)
            except EntryError as error:
                errors[name] = str(error)
        ruled = self._rules(self.values()) if self._rules is not None else {}
        found = {**self._marks, **ruled, **errors}
        return {name: found[name] for name in self._fields if name in found}

    def _read(self, name: str) -> Any:
        field = self._fields[name]
        if name not in self._entries:
            if field.default is None and field.is_required:
                raise EntryError(f"{field.title} is missing")
            return field.default
        return read_entry(field, self._entries[name])
