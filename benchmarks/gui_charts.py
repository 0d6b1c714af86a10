"""Opening a long curve in the desktop workbench.

    python -m benchmarks.gui_charts [--points 1000000] [--repeat 3]

A run of a real daemon gets one metric of so many points. Its chart is opened in the real tab: from
the selection to the first painted picture of the curve. The target is <= 300 ms. The baseline is
the plain way in the same process: all points, already in memory, in a PlotWidget of pyqtgraph as it
comes, until it is painted.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
import pyqtgraph
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget

from benchmarks.report import Report
from benchmarks.series_queries import make_store
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.charts.tab import ChartsTab
from tests.daemon_harness import DaemonHarness

TARGET_MS = 300
WAIT_S = 60.0
SIZE = (1280, 800)


class Paints(QObject):
    """Counts how often a widget was painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Paint:
            self.count += 1
        return False


def wait_for(qt: QApplication, is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        qt.processEvents()
        if time.monotonic() > end:
            raise TimeoutError("the window did not get there")
        time.sleep(0.0005)


def has_curve(tab: ChartsTab, run_id: str) -> bool:
    return bool(tab.cards) and any(
        curve.id == run_id and not curve.is_empty for curve in tab.cards[0].plot.curves
    )


def opened_ms(qt: QApplication, application: Application, run_id: str) -> float:
    """From the selection until the curve is on the picture."""
    state, panel = application.state, application.window.tabs_panel
    wait_for(qt, lambda: run_id in state.runs)
    began = time.perf_counter()
    state.select([run_id])
    wait_for(qt, lambda: isinstance(panel.tab("charts"), ChartsTab))
    tab = panel.tab("charts")
    assert isinstance(tab, ChartsTab)
    wait_for(qt, lambda: has_curve(tab, run_id))
    tab.cards[0].plot.area.viewport().repaint()
    return (time.perf_counter() - began) * 1e3


def plain_ms(qt: QApplication, points: int) -> float:
    xs = np.arange(points, dtype=float) * 4
    ys = (np.arange(points) * 2654435761 % 1000003) / 1e6
    began = time.perf_counter()
    widget = pyqtgraph.PlotWidget()
    widget.resize(380, 500)
    paints = Paints(widget.viewport())
    widget.plot(xs, ys)
    widget.show()
    wait_for(qt, lambda: paints.count > 0)
    took = (time.perf_counter() - began) * 1e3
    widget.close()
    return took


def prepared_run(daemon: DaemonHarness, points: int) -> str:
    """A run whose store is replaced by one with a very long metric."""
    run_id = daemon.submit(config={"episodes": 1})
    daemon.wait_over(run_id)
    daemon.stop()
    path = daemon.home.run(run_id).telemetry
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink()
    make_store(path, run_id, points)
    daemon.start()
    return run_id


def measure(qt: QApplication, daemon: DaemonHarness, points: int, repeat: int) -> None:
    report = Report(f"a chart of {points:,} points; target <= {TARGET_MS} ms")
    run_id = prepared_run(daemon, points)
    newest = daemon.submit(config={"episodes": 1})  # the window opens with this one selected
    daemon.wait_over(newest)
    first, again = [], []
    for _ in range(repeat):
        application = Application(
            qt, daemon.home, lambda: AsyncTrainerClient(daemon.home, autostart=False)
        )
        try:
            application.window.resize(*SIZE)
            application.start()
            application.state.ask_tab("charts")
            opened_ms(qt, application, newest)
            first.append(opened_ms(qt, application, run_id))
            opened_ms(qt, application, newest)
            again.append(opened_ms(qt, application, run_id))
        finally:
            application.close()
    plain = statistics.median(plain_ms(qt, points) for _ in range(repeat))
    for what, times in (("first", first), ("again", again)):
        ours = statistics.median(times)
        report.add(
            f"opened {what}, median of {repeat}",
            f"{ours:.0f} ms",
            f"{plain / ours:.1f} times faster than {plain:,.0f} ms for all points in pyqtgraph",
        )
    report.print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    qt = QApplication([])
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as folder:
        daemon = DaemonHarness(Path(folder))
        daemon.home.create()
        daemon.start()
        try:
            measure(qt, daemon, arguments.points, arguments.repeat)
        finally:
            daemon.close()


if __name__ == "__main__":
    main()
