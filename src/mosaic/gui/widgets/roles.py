"""Roles: how the style sheet knows what a widget is for."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QLabel, QToolTip, QWidget
from superqt import QElidingLabel

W = TypeVar("W", bound=QWidget)


def with_role(widget: W, role: str) -> W:
    """Roles are those of `theme/style.qss`: "panel", "card", "primary", "flat", "caption", …"""
    widget.setProperty("role", role)
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, True)
    return widget


def set_property(widget: QWidget, name: str, value: object) -> None:
    """Changes a property that the style sheet looks at."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def label(text: str = "", role: str = "") -> QLabel:
    """Plain text: what comes from a run must never be taken for markup."""
    found = QLabel(text)
    found.setTextFormat(Qt.TextFormat.PlainText)
    return with_role(found, role) if role else found


class ElidingLabel(QElidingLabel):
    """Says all of its text in a tool tip while it is cut, and always to a screen reader."""

    def setText(self, txt: str) -> None:
        super().setText(txt)
        self.setAccessibleName(txt)

    @property
    def is_cut(self) -> bool:
        return self.fontMetrics().horizontalAdvance(self.text()) > self.width()

    def event(self, event: QEvent) -> bool:
        is_asked = event.type() == QEvent.Type.ToolTip and not self.toolTip()
        if is_asked and isinstance(event, QHelpEvent) and self.is_cut:
            QToolTip.showText(event.globalPos(), self.text(), self)
            return True
        return super().event(event)


def eliding_label(text: str = "", role: str = "") -> ElidingLabel:
    """In one line, which ends with dots where there is no room; plain text, too."""
    found = ElidingLabel(text)
    found.setTextFormat(Qt.TextFormat.PlainText)
    return with_role(found, role) if role else found


def without_mnemonics(text: str) -> str:
    """For texts of buttons, and labels of editors: "W&B" shall not become "WB"."""
    return text.replace("&", "&&")
