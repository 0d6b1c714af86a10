"""Application: makes the parts, joins them, and takes them apart again."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.async_bridge import AsyncBridge
from mosaic.gui.commands import Commands
from mosaic.gui.feeds import Feeds
from mosaic.gui.run_actions import RunActions
from mosaic.gui.shell.main_window import MainWindow
from mosaic.gui.state.notices import notice_of
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.theme.theme import SYSTEM, Theme
from mosaic.gui.workbench import Workbench
from mosaic.paths import Home

# Python's signal handlers run between two of its instructions; a loop in C has none.
_SIGNAL_LOOK_MS = 200


class Application:
    """One window with its own bridge. Tests make one per test; the program makes one."""

    def __init__(
        self,
        qt: QApplication,
        home: Home,
        open_client: Callable[[], AsyncTrainerClient],
        *,
        is_remote: bool = False,
        theme_name: str = "",
    ) -> None:
        settings = QSettings(str(home.root / "gui" / "workbench.ini"), QSettings.Format.IniFormat)
        chosen = theme_name or str(settings.value("theme", SYSTEM))
        self.state = WorkbenchState()
        self.theme = Theme(qt, chosen)
        self.bridge = AsyncBridge(open_client)
        self.bridge.failed.connect(lambda error: self.state.say(notice_of(error)))
        self.window = MainWindow()
        self.workbench = Workbench(
            home=home,
            state=self.state,
            bridge=self.bridge,
            theme=self.theme,
            commands=Commands(self.window, self.theme),
            settings=settings,
            run_actions=RunActions(self.state, self.bridge),
        )
        self.window.fill(self.workbench)
        self.feeds = Feeds(None if is_remote else home, self.state, self.bridge)

    def start(self) -> None:
        self.window.show()
        self.feeds.start()

    def close(self) -> None:
        """Nothing of ours is left: no thread, timer, process or lease on a run's frames."""
        self.feeds.stop()
        self.window.close()
        self.bridge.close()


def run_workbench(
    home: Home, open_client: Callable[[], AsyncTrainerClient], is_remote: bool
) -> int:
    """Until the window is closed; returns the exit status."""
    qt = QApplication(sys.argv[:1])
    qt.setApplicationName("MOSAIC")
    application = Application(qt, home, open_client, is_remote=is_remote)
    signal.signal(signal.SIGINT, lambda *_: application.window.close())
    waking = QTimer()
    waking.timeout.connect(lambda: None)
    waking.start(_SIGNAL_LOOK_MS)
    application.start()
    status = qt.exec()
    waking.stop()
    application.close()
    return status
