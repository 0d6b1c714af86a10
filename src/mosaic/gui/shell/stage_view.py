"""StageView: the centre of the window, with the page that the state names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QLayout, QStackedLayout, QWidget

from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.targets import Page
from mosaic.gui.widgets.roles import with_role
from mosaic.gui.widgets.stage_page import StagePage

if TYPE_CHECKING:
    from mosaic.gui.outcome.page import OutcomePage

_SMALLEST = QSize(480, 280)


class StageView(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "panel")
        self._workbench = workbench
        self._pages: dict[Page, StagePage] = {}
        self._outcome: OutcomePage | None = None
        self._shown: StagePage | None = None
        self._layout = QStackedLayout(self)
        self._layout.setContentsMargins(1, 1, 1, 1)
        # A page that would like more room must not push the docks aside when it is opened.
        self._layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self.setMinimumSize(_SMALLEST)
        state = workbench.state
        state.page_changed.connect(self._on_page_changed)
        # Before the pages hear of it: a run that ends, or another one, may need another page.
        state.selection_changed.connect(self._on_run_changed)
        state.runs.changed.connect(self._on_run_changed)
        self._on_page_changed(state.page.value)

    def page(self, page: Page) -> StagePage:
        """Made when it is first needed: a window with all of them would open slowly."""
        if page not in self._pages:
            made = _maker(page)(self._workbench)
            self._pages[page] = made
            self._layout.addWidget(made)
        return self._pages[page]

    @property
    def outcome(self) -> OutcomePage:
        """In place of the live page, where the leading run is over."""
        if self._outcome is None:
            from mosaic.gui.outcome.page import OutcomePage

            self._outcome = OutcomePage(self._workbench)
            self._layout.addWidget(self._outcome)
        return self._outcome

    @property
    def shown(self) -> StagePage | None:
        return self._shown

    def minimumSizeHint(self) -> QSize:
        """The widest page, as it was last arranged, does not keep the window wide."""
        return _SMALLEST

    def close_pages(self) -> None:
        if self._shown is not None:
            self._shown.leave()

    def _on_page_changed(self, name: str) -> None:
        self._show(self._wanted(Page(name)))

    def _on_run_changed(self, _: object) -> None:
        wanted = self._wanted(self._workbench.state.page)
        if wanted is not self._shown:
            self._show(wanted)

    def _wanted(self, page: Page) -> StagePage:
        state = self._workbench.state
        record = state.runs.get(state.leading_id) if page is Page.LIVE else None
        is_over = record is not None and record.is_over
        return self.outcome if is_over else self.page(page)

    def _show(self, page: StagePage) -> None:
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
        case Page.BUNDLES:
            from mosaic.gui.bundles.page import BundlesPage

            return BundlesPage
