"""The window under load: eight live environments, four live charts and a run that says a lot.

    python -m benchmarks.gui_frames [--seconds 10] [--events 5000]

A worker of a real daemon shows eight environments of 341x227 pixels, 60 times a second, and emits
so many events a second. In the real window: how often each tile is painted anew, and how late a
timer of 10 ms is in the window's thread. The baseline is the same view of a worker that emits
nothing, without charts. The target under load is >= 30 pictures a second.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication

from benchmarks.gui_frames_worker import METRICS, TILES
from benchmarks.report import Report
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.charts.tab import ChartsTab
from mosaic.gui.live.page import LivePage
from mosaic.gui.state.targets import Page
from tests.daemon_harness import running_daemon

TARGET_FPS = 30
TIMER_MS = 10
WAIT_S = 60.0
SIZE = (1280, 800)
ROOT = Path(__file__).resolve().parents[1]
VARIABLES = {
    "PYTHONPATH": str(ROOT),
    "CLEANRL_FASTLANE_GRID_LIMIT": str(TILES),
    "CLEANRL_FASTLANE_INTERVAL_MS": "16",
    "CLEANRL_FASTLANE_BUDGET": "1",  # what rendering costs the run is not the question here
}


class Figures(NamedTuple):
    fps: float  # of each tile
    late_p99_ms: float
    late_worst_ms: float
    events_per_second: float


class Lateness:
    """How late a timer of 10 ms is, in milliseconds."""

    def __init__(self) -> None:
        self.found: list[float] = []
        self._last = time.perf_counter()
        self.timer = QTimer()
        self.timer.setTimerType(Qt.TimerType.PreciseTimer)
        self.timer.setInterval(TIMER_MS)
        self.timer.timeout.connect(self._look)

    def _look(self) -> None:
        now = time.perf_counter()
        self.found.append(max(0.0, (now - self._last) * 1e3 - TIMER_MS))
        self._last = now


def wait_for(qt: QApplication, is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        qt.processEvents()
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.002)


def measure(qt: QApplication, events: int, seconds: float) -> Figures:
    with running_daemon(PYTHONPATH=str(ROOT)) as daemon:
        words = ["-m", "benchmarks.gui_frames_worker", str(events)]
        run_id = daemon.submit(entry_point=sys.executable, arguments=words, environment=VARIABLES)
        application = Application(
            qt, daemon.home, lambda: AsyncTrainerClient(daemon.home, autostart=False)
        )
        try:
            application.window.resize(*SIZE)
            application.start()
            page = watched(qt, application, run_id)
            if events:
                show_charts(qt, application)
            else:
                application.state.ask_tab("config")
            before = daemon.client.get_run(run_id)
            lateness = Lateness()
            painted, began = page.canvas.painted_pictures, time.perf_counter()
            lateness.timer.start()
            QTimer.singleShot(int(seconds * 1000), qt.quit)
            qt.exec()
            took = time.perf_counter() - began
            lateness.timer.stop()
            fps = (page.canvas.painted_pictures - painted) / took / TILES
            journal = daemon.home.run(run_id).journal
            with journal.open("rb") as file:
                lines = sum(1 for _ in file)
            lived_s = time.time() - (before.started_at or time.time())
        finally:
            application.close()
    late = sorted(lateness.found)
    return Figures(fps, late[int(len(late) * 0.99)], late[-1], lines / lived_s)


def watched(qt: QApplication, application: Application, run_id: str) -> LivePage:
    state = application.state
    wait_for(qt, lambda: run_id in state.runs, "the run is not listed")
    state.select([run_id])
    state.show_page(Page.LIVE)
    page = application.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    wait_for(qt, lambda: len(state.live.frames.tiles) == TILES, "there are no frames")
    wait_for(qt, lambda: page.canvas.painted_pictures > 100, "nothing is painted")
    return page


def show_charts(qt: QApplication, application: Application) -> None:
    panel = application.window.tabs_panel
    application.state.ask_tab("charts")
    wait_for(qt, lambda: isinstance(panel.tab("charts"), ChartsTab), "there is no charts tab")
    charts = panel.tab("charts")
    assert isinstance(charts, ChartsTab)
    wait_for(qt, lambda: bool(charts.charts), "there are no charts")
    charts.chips.added.emit(METRICS)
    wait_for(qt, lambda: len(charts.cards) >= len(METRICS), "there are too few charts")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--events", type=int, default=5000)
    arguments = parser.parse_args()
    qt = QApplication(sys.argv[:1])
    alone = measure(qt, 0, arguments.seconds)
    loaded = measure(qt, arguments.events, arguments.seconds)
    report = Report(f"eight live tiles; target >= {TARGET_FPS} fps under load")
    report.add(
        f"four live charts, {loaded.events_per_second:,.0f} events/s",
        f"{loaded.fps:.1f} fps of each tile",
        f"{loaded.fps / alone.fps:.2f} of {alone.fps:.1f} fps without load",
    )
    report.add(
        "lateness of a 10 ms timer, p99",
        f"{loaded.late_p99_ms:.1f} ms (worst {loaded.late_worst_ms:.0f} ms)",
        f"{alone.late_p99_ms:.1f} ms (worst {alone.late_worst_ms:.0f} ms) without load",
    )
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
