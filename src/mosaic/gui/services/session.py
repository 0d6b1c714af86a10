"""SessionKeeper: keeps where somebody is, shortly after each change, so that no end loses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

from PySide6.QtCore import QObject, QSettings, QTimer

from mosaic.gui.services.async_bridge import AsyncBridge
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.state.session_file import SessionFile, Values, text_of
from mosaic.gui.state.view_session import ViewSession
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

_PAUSE_MS = 400  # of a hand that types on


def window_settings(home: Home) -> QSettings:
    """Sizes, tabs and the like. Settings of one file share what they have read."""
    return QSettings(str(home.root / "gui" / "workbench.ini"), QSettings.Format.IniFormat)


def open_settings(home: Home) -> tuple[QSettings, str]:
    """Those, and a sentence where the file was damaged and is set aside."""
    settings = window_settings(home)
    path = Path(settings.fileName())
    if settings.status() is not QSettings.Status.FormatError:
        return settings, ""
    aside = path.with_suffix(".damaged.ini")
    try:
        path.replace(aside)
    except OSError as error:
        return settings, f"The settings of the window cannot be read: {error.strerror} ({path})"
    fresh = window_settings(home)
    fresh.clear()
    return fresh, f"The settings of the window could not be read; the file is now {aside}"


class SessionKeeper(QObject):
    """Parts of the window say what is theirs; none of it is a secret."""

    def __init__(self, home: Home, state: WorkbenchState, bridge: AsyncBridge) -> None:
        super().__init__()
        self._file, self._state, self._bridge = SessionFile(home), state, bridge
        self._saved, self._problem = self._file.read()
        self._written = text_of(self._saved)
        self._number = self._number_written = 0
        self._lock = Lock()
        self._has_failed = False
        self._parts: dict[str, Callable[[], Values]] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._save)
        view = ViewSession(state, self.part("view"))
        self.keep("view", view.values)
        state.selection_changed.connect(self._on_changed)
        state.page_changed.connect(self._on_changed)

    def part(self, name: str) -> Values:
        """What a part of the window had said in the session before."""
        found: Values = self._saved.get(name, {})
        return found

    def keep(self, name: str, values: Callable[[], Values]) -> None:
        self._parts[name] = values

    def touch(self) -> None:
        """Something may be another now."""
        if not self._timer.isActive():
            self._timer.start()

    def begin(self, *problems: str) -> None:
        """Once there is somebody to tell; `problems`: of what else was brought back."""
        found = [text for text in (self._problem, *problems) if text]
        if found:
            self._state.say(Notice(". ".join(found), Severity.BAD, seconds=0))

    def close(self) -> None:
        """In this very thread: nothing comes afterwards."""
        self._timer.stop()
        values = self._values()
        if text_of(values) != self._written:
            self._write(values, self._next())

    def _on_changed(self, *_: object) -> None:
        self.touch()

    def _values(self) -> dict[str, Any]:
        return {name: values() for name, values in self._parts.items()}

    def _save(self) -> None:
        values = self._values()
        text = text_of(values)
        if text != self._written:
            self._written = text
            number = self._next()
            self._bridge.work(lambda: self._write(values, number), self._on_written)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _write(self, values: Values, number: int) -> str:
        """In any thread; one that comes late does not undo what was written after it."""
        try:
            with self._lock:
                if number < self._number_written:
                    return ""
                self._number_written = number
                self._file.save(values)
        except (OSError, ValueError, TypeError) as error:
            log.warning("workbench.session_unsaved", error=str(error))
            return str(error)
        return ""

    def _on_written(self, problem: str) -> None:
        if problem and not self._has_failed:  # once is enough
            text = f"Where you are cannot be kept for the next time: {problem}"
            self._state.say(Notice(text, Severity.BAD))
        self._has_failed = bool(problem)
