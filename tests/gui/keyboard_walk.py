"""Walks through the window with the Tab key, and tells what cannot be reached or has no name."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMenuBar,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

KINDS = (
    *(QAbstractButton, QComboBox, QLineEdit, QAbstractSlider, QAbstractItemView),
    *(QAbstractSpinBox, QPlainTextEdit, QTextEdit, QTabBar),
)
# Parts of others: whoever reaches the whole reaches them.
WHOLES = (QComboBox, QLineEdit, QAbstractSpinBox, QAbstractItemView, QMenuBar, QTabBar)
PARTS = (QScrollBar, QHeaderView)
MOST_STEPS = 500


def interactive(window: QWidget) -> list[QWidget]:
    """All that a mouse could use now."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if isinstance(widget, KINDS)
        and not isinstance(widget, PARTS)
        and widget.isVisible()
        and widget.isEnabled()
        and not _is_part(widget)
    ]


def walk(qtbot: QtBot, window: QMainWindow, first: QWidget) -> list[QWidget]:
    """What has the keyboard one after the other, from `first` until it comes round."""
    first.setFocus(Qt.FocusReason.TabFocusReason)
    reached: list[QWidget] = []
    for _ in range(MOST_STEPS):
        now = QApplication.focusWidget()
        assert now is not None, f"after {reached[-1:]} nothing has the keyboard"
        if reached and now is reached[0]:
            return reached
        reached.append(now)
        qtbot.keyClick(now, Qt.Key.Key_Tab)
    raise AssertionError(f"Tab does not come round: {reached[-6:]}")


def unreachable(window: QMainWindow, reached: list[QWidget]) -> list[str]:
    seen = set(reached)
    return [describe(item) for item in interactive(window) if not _is_reached(item, seen)]


def nameless(window: QWidget) -> list[str]:
    """What a screen reader could not tell from others, of all that can be used."""
    seen = {*interactive(window), *focusable(window)}
    return [describe(item) for item in seen if not _name(item)]


def focusable(window: QWidget) -> list[QWidget]:
    """All that Tab stops at, canvases and plots among them."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.isVisible()
        and widget.isEnabled()
        and not widget.focusProxy()
        and not _is_part(widget)
    ]


def looks_same(widget: QWidget) -> bool:
    """Whether nobody sees that it has the keyboard."""
    window = widget.window()
    _scroll_to(widget)
    QApplication.processEvents()
    place = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()).adjusted(-3, -3, 3, 3)
    pictures = []
    for has_keyboard in (True, False):
        if has_keyboard:
            widget.setFocus(Qt.FocusReason.TabFocusReason)
        else:
            widget.clearFocus()
        QApplication.processEvents()
        pictures.append(window.grab(place).toImage())
    return pictures[0] == pictures[1]


def describe(widget: QWidget) -> str:
    parents: list[str] = []
    parent = widget.parentWidget()
    while parent is not None and len(parents) < 4:
        parents.append(parent.objectName() or type(parent).__name__)
        parent = parent.parentWidget()
    what = widget.objectName() or _name(widget) or widget.toolTip()
    return f"{type(widget).__name__} {what!r} in {' < '.join(parents)}"


def _scroll_to(widget: QWidget) -> None:
    """As Tab does."""
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()


def _is_part(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, WHOLES):
            return True
        parent = parent.parentWidget()
    return False


def _is_reached(widget: QWidget, seen: set[QWidget]) -> bool:
    if widget in seen or widget.focusProxy() in seen:
        return True
    if any(item.parentWidget() is widget for item in seen):
        return True
    if isinstance(widget, QAbstractButton):
        group = widget.group()
        if group is not None and group.exclusive():
            return any(button in seen for button in group.buttons())  # by the arrow keys
    return False


def _name(widget: QWidget) -> str:
    if widget.accessibleName():
        return widget.accessibleName()
    if isinstance(widget, QAbstractButton) and widget.text():
        return widget.text()
    buddies = (item for item in widget.window().findChildren(QLabel) if item.buddy() is widget)
    return next((item.text() for item in buddies), "")
