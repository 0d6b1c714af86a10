"""TabPage: the frame that most tabs share: a banner above, and either content or a sentence."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.async_bridge import Task
from mosaic.gui.tabs.run_tab import RunTab
from mosaic.gui.widgets.banner import Banner
from mosaic.gui.widgets.empty_state import EmptyState
from mosaic.gui.workbench import Workbench


class TabPage(RunTab):
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
