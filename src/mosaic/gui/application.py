"""Application: creates the parts, connects them, and shuts them down again."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from mosaic import __version__
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.services.async_bridge import AsyncBridge
from mosaic.gui.services.bundle_keeper import BundleKeeper
from mosaic.gui.services.feeds import Feeds
from mosaic.gui.services.garbage import GarbageKeeper
from mosaic.gui.services.run_actions import RunActions
from mosaic.gui.services.session import SessionKeeper, open_settings, window_settings
from mosaic.gui.services.unexpected_errors import UnexpectedErrors
from mosaic.gui.services.workbench import Commands, Workbench
from mosaic.gui.shell.main_window import MainWindow
from mosaic.gui.shell.zoom import scaled_start
from mosaic.gui.state.notices import notice_of
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.theme.theme import SYSTEM, Theme
from mosaic.logs import get_logger, log_to_file
from mosaic.paths import Home

log = get_logger(__name__)

# Python's signal handlers run between two bytecode instructions; a loop in C has none.
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
        self._garbage = GarbageKeeper()
        self._garbage.start()  # before there are threads
        settings, self._problem = open_settings(home)
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
            bundles=BundleKeeper(self.state, self.bridge),
            session=SessionKeeper(home, self.state, self.bridge),
        )
        self.window.fill(self.workbench)
        self.feeds = Feeds(None if is_remote else home, self.state, self.bridge)
        self.window.banner.start_daemon = self.feeds.reconnect

    def start(self) -> None:
        self.window.show()
        self.workbench.session.begin(self._problem)
        self.feeds.start()

    def close(self) -> None:
        """Nothing of ours is left: no thread, timer, process or lease on a run's frames."""
        self.feeds.stop()
        self.workbench.bundles.stop()
        self.workbench.session.close()
        self.window.close()
        self.bridge.close()
        self._garbage.stop()


def run_workbench(
    home: Home,
    open_client: Callable[[], AsyncTrainerClient],
    is_remote: bool,
    shown: Callable[[], bool] | None = None,
) -> int:
    """Until the window is closed; returns the exit status.

    `shown` is called once the window can be used; it closes again when that returns False.
    """
    home.create()
    log_to_file(home.workbench_log)
    with scaled_start(window_settings(home)):
        qt = QApplication(sys.argv[:1])
    qt.setApplicationName("MOSAIC")
    application = Application(qt, home, open_client, is_remote=is_remote)
    errors = UnexpectedErrors(application.state, str(home.workbench_log))
    errors.install()
    # Other windows (of file choosers, for example) must not keep the program alive.
    application.window.closed.connect(qt.quit)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: application.window.close())
    waking = QTimer()
    waking.timeout.connect(lambda: None)
    waking.start(_SIGNAL_LOOK_MS)
    application.start()

    def on_shown() -> None:
        log.info("workbench.shown", version=__version__, platform=qt.platformName())
        if shown is not None and not shown():
            application.window.close()

    # After everything that waits now, which includes the first picture of the window.
    QTimer.singleShot(0, on_shown)
    status = qt.exec()
    waking.stop()
    application.close()
    errors.remove()
    return status
