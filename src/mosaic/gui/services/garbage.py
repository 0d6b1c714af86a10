"""GarbageKeeper: objects in cycles are destroyed in the window's thread, as Qt demands of its own.

Python looks for cycles in whichever thread happens to allocate: one that reads frames, say. Should
it find an object of Qt there, that is destroyed in the wrong thread, and the window's next turn
ends in a fault inside Qt.
"""

from __future__ import annotations

import gc
import sys

from PySide6.QtCore import QObject, QTimer

_EVERY_MS = 500
# All objects are looked at only when memory has grown by so much: that takes a tenth of a second.
_GROWTH = 1.25


class GarbageKeeper(QObject):
    def __init__(self) -> None:
        super().__init__()
        self._blocks = 0  # of memory in use, when everything was looked at last
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self._collect)

    def start(self) -> None:
        gc.disable()
        self._blocks = sys.getallocatedblocks()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        gc.enable()

    def _collect(self) -> None:
        young, middle, _ = gc.get_threshold()
        if gc.get_count()[0] <= young:
            return
        gc.collect(1 if gc.get_count()[1] >= middle else 0)
        if sys.getallocatedblocks() > self._blocks * _GROWTH:
            gc.collect()
            self._blocks = sys.getallocatedblocks()
