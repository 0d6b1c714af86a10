"""The workbench as a program of its own, which says when a run plays at natural speed.

python -m tests.gui.natural_program HOME RUN
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.live.page import LivePage
from mosaic.gui.state.targets import Page
from mosaic.paths import Home

_LOOK_MS = 20


def main() -> None:
    home, run_id = Home(Path(sys.argv[1])), sys.argv[2]
    qt = QApplication(sys.argv[:1])
    application = Application(qt, home, lambda: AsyncTrainerClient(home, autostart=False))
    looking = QTimer()

    def look() -> None:
        state = application.state
        if run_id not in state.runs:
            return
        if state.leading_id != run_id or state.page is not Page.LIVE:
            state.select([run_id])
            state.show_page(Page.LIVE)
        page = application.window.stage.page(Page.LIVE)
        assert isinstance(page, LivePage)
        if page.watching.shown is not None:
            looking.stop()
            print(json.dumps({"helper": page.watching.helper_pid}), flush=True)

    looking.timeout.connect(look)
    looking.start(_LOOK_MS)
    application.start()
    qt.exec()


if __name__ == "__main__":
    main()
