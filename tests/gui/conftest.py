"""The real window, without a screen: offscreen, with a daemon where a test asks for one."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("PySide6", reason="PySide6 (extra `gui`) is not installed")

from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QApplication

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.theme import fonts
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.late import Lateness

# Large enough for a window and its menus also where a pixel of ours is four of the screen.
SCREEN = Path(__file__).with_name("screen.json")
os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={SCREEN}"
WAIT_MS = 30_000
# Set by `tools/window_matrix.py`: the seed of another order, a file with another font, and the seed
# by which everything arrives late.
ORDER, FONT, LATE = "MOSAIC_TEST_ORDER", "MOSAIC_TEST_FONT", "MOSAIC_TEST_LATE"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """File after file, as their daemons want it, but no file and no test in its usual place."""
    if ORDER in os.environ:
        chance = random.Random(os.environ[ORDER])
        files = list(dict.fromkeys(item.path for item in items))
        chance.shuffle(files)
        chance.shuffle(items)
        items.sort(key=lambda item: files.index(item.path))


@pytest.fixture(scope="session", autouse=True)
def other_font(qapp: QApplication) -> None:
    """Words in a font that is wider or narrower than ours: nothing may depend on its size."""
    if FONT in os.environ:
        number = QFontDatabase.addApplicationFont(os.environ[FONT])
        fonts.SANS = QFontDatabase.applicationFontFamilies(number)[0]


@pytest.fixture(scope="session")
def lateness() -> Iterator[Lateness | None]:
    if LATE not in os.environ:
        yield None
        return
    late = Lateness(os.environ[LATE])
    with pytest.MonkeyPatch.context() as patch:
        late.install(patch)
        yield late


@pytest.fixture(autouse=True)
def late_arrivals(lateness: Lateness | None, request: pytest.FixtureRequest) -> None:
    """What comes from elsewhere comes later than usual: nothing may depend on how soon."""
    if lateness is not None:
        lateness.begin_test(request.node.nodeid)


@pytest.fixture
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture
def open_application(
    qapp: QApplication,
) -> Iterator[Callable[[Home], Application]]:
    """Makes windows that are closed at the end, with nothing of them left behind."""
    before = set(threading.enumerate())
    opened: list[Application] = []

    def make(home: Home) -> Application:
        application = Application(
            qapp, home, lambda: AsyncTrainerClient(home, autostart=False), theme_name="dark"
        )
        opened.append(application)
        application.window.show()
        return application

    yield make
    for application in opened:
        application.close()
        running = [timer for timer in application.window.findChildren(QTimer) if timer.isActive()]
        assert not running, f"timers left running: {[timer.parent() for timer in running]}"
        # A new window dresses every widget that still lives: the old ones must not pile up.
        application.window.deleteLater()
        QCoreApplication.sendPostedEvents(application.window, QEvent.Type.DeferredDelete)
    started = set(threading.enumerate()) - before
    ours = [thread for thread in started if thread.name.startswith("mosaic")]
    for thread in ours:
        thread.join(WAIT_MS / 1000)  # told to end; a window does not wait for it
    left = [thread.name for thread in ours if thread.is_alive()]
    assert not left, f"threads left behind: {left}"


@pytest.fixture
def application(
    daemon: DaemonHarness, open_application: Callable[[Home], Application]
) -> Application:
    """A window joined to a real daemon, with its first list of runs."""
    # Wherever the test before was: tests of a file may share their daemon.
    (daemon.home.root / "gui" / "session.json").unlink(missing_ok=True)
    made = open_application(daemon.home)
    made.start()
    return made


@pytest.fixture
def lonely(tmp_path: Path, open_application: Callable[[Home], Application]) -> Application:
    """A window whose feeds are not started: for widgets that are shown given state."""
    return open_application(Home(tmp_path))


@pytest.fixture
def x_server() -> Iterator[str]:
    """A screen that nobody sees."""
    program = shutil.which("Xvfb")
    if program is None:
        pytest.skip("Xvfb is not installed: tools/install_system_packages.sh --for-tests")
    reading, writing = os.pipe()
    command = [
        program,
        "-displayfd",
        str(writing),
        "-screen",
        "0",
        "1280x800x24",
        "-nolisten",
        "tcp",
    ]
    with subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        try:
            with os.fdopen(reading) as number:
                yield f":{number.readline().strip()}"
        finally:
            server.terminate()
