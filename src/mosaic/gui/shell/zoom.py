"""Zoom: draws the whole interface larger or smaller: letters, icons, rows and distances alike.

Qt scales everything by one factor. It reads it from a variable when the program starts, and has a
function to change it later, which its libraries export without a header of PySide6. Where that
function is missing, a new size is used when the window is opened again.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import PySide6
from psygnal import Signal
from PySide6.QtCore import (
    QMessageLogContext,
    QSettings,
    QSize,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtWidgets import QApplication, QWidget

from mosaic.gui.shell.model import zoom_steps
from mosaic.gui.shell.model.zoom_steps import SETTING

_VARIABLE = "QT_SCALE_FACTOR"
_FUNCTION = "_ZN15QHighDpiScaling15setGlobalFactorEd"
# Qt says so to programs that do not expect what happens; ours lays everything out again.
_EXPECTED = ("Should only be called when no windows exist", "device pixel ratio value was stale")


@contextmanager
def scaled_start(settings: QSettings) -> Iterator[None]:
    """While the application is made; programs that it starts later do not inherit it."""
    before = os.environ.get(_VARIABLE)
    percent = zoom_steps.read_percent(settings.value(SETTING, zoom_steps.USUAL))
    if percent != zoom_steps.USUAL:
        os.environ[_VARIABLE] = zoom_steps.scale_text(before or "", percent)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before


class Zoom:
    changed = Signal(int)  # percent

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings
        self.percent = zoom_steps.read_percent(settings.value(SETTING, zoom_steps.USUAL))
        self.drawn = self.percent  # what is seen, until the window is opened again

    def set_percent(self, percent: int) -> None:
        self.percent = percent
        self._settings.setValue(SETTING, percent)
        set_factor = _set_factor()
        if set_factor is not None:
            scale = zoom_steps.scale_text(os.environ.get(_VARIABLE, ""), percent)
            self.drawn = percent
            with _quiet():
                set_factor(float(scale))
            for widget in QApplication.topLevelWidgets():
                handle = widget.windowHandle()
                if handle is not None and widget.isVisible():
                    room = handle.geometry().size()  # a window keeps its size on the screen
                    QTimer.singleShot(0, widget, functools.partial(_notice, widget, room))
        self.changed.emit(percent)


def _notice(widget: QWidget, room: QSize) -> None:
    """Where the platform has not told the window of its new scale, it is made again."""
    handle = widget.windowHandle()
    if handle is None or widget.size() == room or not widget.isVisible():
        return
    with _quiet():
        handle.destroy()
        widget.resize(room)
        widget.show()
        handle.show()


@functools.cache
def _set_factor() -> Callable[[float], None] | None:
    folder = Path(PySide6.__file__).parent
    for library in sorted(folder.glob("Qt/lib/libQt6Gui.so*")):
        try:
            found = getattr(ctypes.CDLL(str(library)), _FUNCTION)
        except (OSError, AttributeError):
            continue
        found.argtypes, found.restype = [ctypes.c_double], None
        return lambda factor: found(factor)
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    def say_the_rest(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        if before is not None and not any(words in text for words in _EXPECTED):
            before(kind, context, text)

    before = qInstallMessageHandler(say_the_rest)
    try:
        yield
    finally:
        qInstallMessageHandler(before)
