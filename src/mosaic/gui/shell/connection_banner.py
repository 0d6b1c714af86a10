"""ConnectionBanner: above the centre as long as the daemon is away."""

from __future__ import annotations

from collections.abc import Callable

from mosaic.gui.state.header_texts import banner_text
from mosaic.gui.widgets.banner import Banner
from mosaic.gui.workbench import Workbench


class ConnectionBanner(Banner):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__(workbench.theme, "lan-disconnect")
        self._state = workbench.state
        # Given by whoever feeds the state, which is made after the window.
        self.start_daemon: Callable[[], None] | None = None
        workbench.state.connection_changed.connect(self._on_connection_changed)
        self._on_connection_changed("")

    def _on_connection_changed(self, connection: str) -> None:
        state = self._state
        found = banner_text(state.connection, state.connection_problem, state.is_daemon_stopped)
        if found.can_start and self.start_daemon is not None:
            self.show_text(found.text, "Start it", self.start_daemon)
        else:
            self.show_text(found.text)
