"""RepeatedLook: reads files of a run again and again, in another thread, while they may grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QTimer

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.async_bridge import Task
from mosaic.gui.tabs.tab_page import TabPage


class RepeatedLook:
    """`read` is called in a thread; what it returns has `has_more` when there is more to read."""

    def __init__(self, tab: TabPage, every_ms: int, done: Callable[[Any], None]) -> None:
        self._tab, self._done = tab, done
        self._record: RunRecord | None = None
        self._read: Callable[[], Any] | None = None
        self._reading: Task | None = None
        self._is_final = False  # read since the run is over: nothing comes any more
        self._has_more = True
        self._timer = QTimer(tab)
        self._timer.setInterval(every_ms)
        self._timer.timeout.connect(self._on_due)

    def follow(
        self, record: RunRecord, make_read: Callable[[RunRecord], Callable[[], Any]]
    ) -> bool:
        """Whether this is another run than before; then its files are read from the beginning."""
        is_other = self._record is None or self._record.run_id != record.run_id
        self._record = record
        if is_other:
            self._read, self._is_final, self._has_more = make_read(record), False, True
            self._tab.cancel_tasks()
        return is_other

    def begin(self) -> None:
        """The tab is in front."""
        self._timer.start()
        self.look()

    def end(self) -> None:
        self._timer.stop()
        self._tab.cancel_tasks()

    def look(self) -> None:
        if self._read is not None and (self._reading is None or self._reading.is_done):
            self._is_final = self._record is not None and self._record.is_over
            bridge = self._tab.workbench.bridge
            task = bridge.work(self._read, self._on_read, self._tab.say_error)
            self._reading = self._tab.keep(task)

    def _on_due(self) -> None:
        if not self._is_final or self._has_more:
            self.look()

    def _on_read(self, found: Any) -> None:
        self._has_more = found is None or found.has_more
        self._done(found)
