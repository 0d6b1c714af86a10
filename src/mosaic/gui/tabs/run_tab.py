"""Base classes of tabs: RunTab, TabPage with a frame around it; FileFollower for growing files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.widgets.messages import Banner, EmptyState


class RunTab(QWidget):
    """One tab about the selected runs.

    Asks for data only while it is active: shown, and its tab in front.
    """

    def show_run(self, record: RunRecord) -> None:
        """The whole record of the leading run; called again whenever it has changed."""
        raise NotImplementedError

    def show_selection(self, run_ids: tuple[str, ...]) -> None:
        """All runs that are selected, the leading one first; most tabs show that one alone."""

    def set_active(self, is_active: bool) -> None:
        """Timers, streams and viewers run only in between."""

    def close_tab(self) -> None:
        """The window closes; what outlives being inactive, such as a process, ends here."""


@dataclass(frozen=True)
class TabKind:
    id: str
    title: str
    icon: str
    is_there: Callable[[RunRecord], bool]  # whether a run has this tab; pure
    make: Callable[[Workbench], RunTab]


class TabPage(RunTab):
    """The frame that most tabs share: a banner above, and either content or a sentence."""

    def __init__(self, workbench: Workbench, icon: str, content: QWidget) -> None:
        super().__init__()
        self.workbench = workbench
        self.is_active = False
        self._tasks: list[Task] = []
        self.banner = Banner(workbench.theme)
        self.empty = EmptyState(workbench.theme, icon, "")
        self._content = content
        self._pages = QStackedLayout()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 12, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(self.banner)
        layout.addLayout(self._pages, 1)
        # Filled when it has a place: before, Qt would open a window for its first page.
        self._pages.addWidget(self.empty)
        self._pages.addWidget(content)

    def say(self, title: str, text: str = "") -> None:
        """Instead of the content: why there is none, and what to do."""
        self.empty.show_text(title, text)
        self._pages.setCurrentWidget(self.empty)

    def say_error(self, error: MosaicError) -> None:
        hint = error.hint[:1].upper() + error.hint[1:]
        self.say(error.message, hint)

    def show_content(self) -> None:
        self._pages.setCurrentWidget(self._content)

    @property
    def is_content_shown(self) -> bool:
        return self._pages.currentWidget() is self._content

    def keep(self, task: Task) -> Task:
        """Canceled when the tab goes to the back."""
        self._tasks = [one for one in self._tasks if not one.is_done]
        self._tasks.append(task)
        return task

    def cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()


class FileFollower:
    """Reads files of a run again and again, in another thread, while they may grow.

    `read` is called in a thread; what it returns has `has_more` when there is more to read.
    """

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
        self.read_now()

    def end(self) -> None:
        self._timer.stop()
        self._tab.cancel_tasks()

    def read_now(self) -> None:
        if self._read is not None and (self._reading is None or self._reading.is_done):
            self._is_final = self._record is not None and self._record.is_over
            bridge = self._tab.workbench.bridge
            task = bridge.work(self._read, self._on_read, self._tab.say_error)
            self._reading = self._tab.keep(task)

    def _on_due(self) -> None:
        if not self._is_final or self._has_more:
            self.read_now()

    def _on_read(self, found: Any) -> None:
        self._has_more = found is None or found.has_more
        self._done(found)
