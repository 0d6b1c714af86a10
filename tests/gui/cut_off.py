"""Finds what a person cannot see whole: controls and words that are cut off."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QScrollBar,
    QSlider,
    QTabBar,
    QWidget,
)
from superqt import QElidingLabel

from tests.gui.keyboard_walk import describe

_KINDS = (QAbstractButton, QComboBox, QLabel, QLineEdit, QSlider, QTabBar)
_BARELY = 2  # pixels that nobody misses


def cut_off(window: QWidget) -> list[str]:
    """One line for each; empty where everything is there."""
    found = []
    for widget in window.findChildren(QWidget):
        if isinstance(widget, _KINDS) and widget.isVisible() and not widget.size().isEmpty():
            problem = _clipped(widget, window) or _squeezed(widget)
            if problem:
                found.append(f"{describe(widget)}: {problem}")
    return found


def _clipped(widget: QWidget, window: QWidget) -> str:
    """A part of it is outside of one of the widgets around it. What scrolls is there."""
    scrolls_across = scrolls_down = False
    parent = widget.parentWidget()
    while parent is not None and widget is not window:
        if parent.window() is not window.window():
            return ""
        area = parent.parentWidget()
        if isinstance(area, QAbstractScrollArea) and parent is area.viewport():
            scrolls_down = scrolls_down or _can_scroll(area.verticalScrollBar())
            scrolls_across = scrolls_across or _can_scroll(area.horizontalScrollBar())
            if not isinstance(area, QScrollArea):
                return ""  # cells of a table, lines of a text
        rect = QRect(widget.mapTo(parent, QPoint(0, 0)), widget.size())
        room = parent.rect()
        if not scrolls_across and (
            rect.right() > room.right() + _BARELY or rect.left() < room.left() - _BARELY
        ):
            return f"{rect.left()}…{rect.right()} is wider than {room.width()} of {_name(parent)}"
        if not scrolls_down and (
            rect.bottom() > room.bottom() + _BARELY or rect.top() < room.top() - _BARELY
        ):
            return f"{rect.top()}…{rect.bottom()} is higher than {room.height()} of {_name(parent)}"
        if parent is window:
            return ""
        parent = parent.parentWidget()
    return ""


def _can_scroll(bar: QScrollBar) -> bool:
    return bar.maximum() > bar.minimum()


def _squeezed(widget: QWidget) -> str:
    """It is smaller than its words."""
    if isinstance(widget, QElidingLabel):
        return ""
    if isinstance(widget, QLabel):
        if not widget.text() or widget.textFormat() == Qt.TextFormat.RichText:
            return ""
        if widget.wordWrap():
            needed = widget.heightForWidth(widget.width())
            is_low = needed > widget.height() + _BARELY
            return f"{widget.height()} of {needed} high" if is_low else ""
        return _lacks(widget.size(), widget.sizeHint())
    if isinstance(widget, QAbstractButton) and widget.text():
        return _lacks(widget.size(), widget.sizeHint())
    return ""


def _lacks(has: QSize, needs: QSize) -> str:
    if needs.width() > has.width() + _BARELY:
        return f"{has.width()} of {needs.width()} wide"
    return ""


def _name(widget: QWidget) -> str:
    return widget.objectName() or type(widget).__name__
