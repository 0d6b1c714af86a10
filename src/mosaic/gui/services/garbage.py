"""GarbageKeeper: objects in cycles are destroyed in the window's thread, as Qt demands of its own.

Python looks for cycles in whichever thread happens to allocate: one that reads frames, say. Should
it find an object of Qt there, that is destroyed in the wrong thread, and the window's next turn
ends in a fault inside Qt. Nor does Python see how much a cycle holds: a few objects with pictures
of many megabytes may wait for hours.
"""

from __future__ import annotations

import gc
import time

from PySide6.QtCore import QObject, QTimer

_EVERY_MS = 500
# Looking at all objects takes a tenth of a second; at the younger ones, nearly nothing.
_ALL_EVERY_S = 60.0


class GarbageKeeper(QObject):
    def __init__(self) -> None:
        super().__init__()
        self._all_at = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self._collect)

    def start(self) -> None:
        gc.disable()
        self._all_at = time.monotonic()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        gc.enable()

    def _collect(self) -> None:
        if time.monotonic() - self._all_at >= _ALL_EVERY_S:
            gc.collect()
            self._all_at = time.monotonic()
        elif gc.get_count()[0] > gc.get_threshold()[0]:
            gc.collect(1)
