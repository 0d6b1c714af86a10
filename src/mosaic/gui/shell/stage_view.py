"""StageView: the centre of the window, with the page that the state names."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QLayout, QStackedLayout, QWidget

from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.targets import Page
from mosaic.gui.widgets.roles import with_role
from mosaic.gui.widgets.stage_page import StagePage

_SMALLEST = QSize(480, 280)


class StageView(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "panel")
        self._workbench = workbench
        self._pages: dict[Page, StagePage] = {}
        self._shown: StagePage | None = None
        self._layout = QStackedLayout(self)
        self._layout.setContentsMargins(1, 1, 1, 1)
        # A page that would like more room must not push the docks aside when it is opened.
        self._layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self.setMinimumSize(_SMALLEST)
        workbench.state.page_changed.connect(self._on_page_changed)
        self._on_page_changed(workbench.state.page.value)

    def page(self, page: Page) -> StagePage:
        """Made when it is first needed: a window with all of them would open slowly."""
        if page not in self._pages:
            made = _maker(page)(self._workbench)
            self._pages[page] = made
            self._layout.addWidget(made)
        return self._pages[page]

    def minimumSizeHint(self) -> QSize:
        """The widest page, as it was last arranged, does not keep the window wide."""
        return _SMALLEST

    def close_pages(self) -> None:
        if self._shown is not None:
            self._shown.leave()

    def _on_page_changed(self, name: str) -> None:
        page = self.page(Page(name))
        if self._shown is not None and self._shown is not page:
            self._shown.leave()
        self._shown = page
        self._layout.setCurrentWidget(page)
        page.open()


def _maker(page: Page) -> Callable[[Workbench], StagePage]:
    match page:
        case Page.WELCOME:
            from mosaic.gui.welcome.page import WelcomePage

            return WelcomePage
        case Page.LIVE:
            from mosaic.gui.live.page import LivePage

            return LivePage
        case Page.PLAY:
            from mosaic.gui.play.page import PlayPage

            return PlayPage
        case Page.REPLAY:
            from mosaic.gui.replay.page import ReplayPage

            return ReplayPage
        case Page.COMPARE:
            from mosaic.gui.compare.page import ComparePage

            return ComparePage
        case Page.TRASH:
            from mosaic.gui.trash.page import TrashPage

            return TrashPage
