"""CPU time per picture of the view at natural speed, of the window and of its helper process.

    python -m benchmarks.natural_cost FOLDER [cart_pole lunar_lander pong half_cheetah]
        [--seconds 8]

No training runs meanwhile: the same recorded episode is shown again and again in the real window
(1280x800, without a screen) by the real helper. Recordings that FOLDER does not hold yet come from
a training that takes as long as its first long episode. To compare two checkouts run this in both,
in turns, with one FOLDER. CPU time depends less on other work than speed does, and still somewhat.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

import mosaic
from benchmarks.natural_speed import CASES, SIZE, cpu_s, submitted, wait, wait_for
from benchmarks.report import Report
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.errors import RequestError
from mosaic.frames.hud import NO_PROGRESS
from mosaic.gui.application import Application
from mosaic.gui.live.model.natural import natural_hud
from mosaic.gui.live.natural_reader import NaturalReader
from mosaic.gui.live.page import LivePage
from mosaic.gui.state.live_watch import LiveFrames
from mosaic.gui.state.targets import Page
from mosaic.paths import Home
from tests.daemon_harness import running_daemon

LEAST_STEPS = 150
WORDS_MS = 100  # as the page does


class Cost(NamedTuple):
    pictures: float  # a second
    window_ms: float
    main_ms: float  # of the window's own thread alone
    helper_ms: float
    waits: float  # of the window's threads, per picture


def recorded(name: str, folder: Path) -> Any:
    """A recording and its episode."""
    path = folder / f"{name}.pickle"
    if not path.exists():
        path.write_bytes(pickle.dumps(newly_recorded(name)))
    recording, episode = pickle.loads(path.read_bytes())
    # The helper is that of this checkout.
    return replace(recording, path=(str(Path(mosaic.__file__).parents[1]),)), episode


def newly_recorded(name: str) -> Any:
    with running_daemon() as daemon:
        run_id = submitted(daemon, CASES[name], 1)
        found: list[Any] = []

        def is_found() -> bool:
            for episode in daemon.client.episodes(run_id, limit=5, order="newest"):
                try:
                    recording = daemon.client.get_recording(run_id, episode.episode_index)
                except RequestError:
                    continue
                is_long = len(recording.rewards) - recording.lead >= LEAST_STEPS
                if is_long and not recording.problem:
                    found.append((recording, episode))
            return bool(found)

        wait_for(is_found, "no long episode is recorded")
        daemon.client.stop_run(run_id)
        daemon.wait_over(run_id)
    return found[0]


class Same:
    """Instead of the bridge to the daemon: whoever asks gets the same episode."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def ask(self, _: object, answer: Any, __: object) -> Any:
        QTimer.singleShot(0, lambda: answer(self._found))
        return SimpleNamespace(cancel=lambda: None)


def measure(page: LivePage, found: Any, seconds: float) -> Cost:
    canvas, same = page.canvas, Same(found)
    reader = NaturalReader("", same, page)  # type: ignore[arg-type]
    words = QTimer(page)
    words.setSingleShot(True)
    words.setInterval(WORDS_MS)

    def show_words() -> None:
        if reader.shown is not None:
            page.hud.show_hud(natural_hud(reader.shown, NO_PROGRESS, "", time.time()))

    def show(frames: LiveFrames) -> None:
        canvas.show_tiles(frames.tiles)
        if not words.isActive():
            words.start()

    words.timeout.connect(show_words)
    reader.arrived.connect(show)
    before = canvas.painted_pictures
    reader.start()
    try:
        wait_for(lambda: canvas.painted_pictures > before, "nothing is shown")
        wait(2.0)
        own = psutil.Process()
        before, waits = canvas.painted_pictures, own.num_ctx_switches().voluntary
        helper, window, thread = cpu_s(reader.player.pid), time.process_time(), time.thread_time()
        wait(seconds)
        count = canvas.painted_pictures - before
        return Cost(
            count / seconds,
            (time.process_time() - window) / count * 1000,
            (time.thread_time() - thread) / count * 1000,
            (cpu_s(reader.player.pid) - helper) / count * 1000,
            (own.num_ctx_switches().voluntary - waits) / count,
        )
    finally:
        reader.dispose()
        canvas.show_tiles(())


def live_page(application: Application) -> LivePage:
    """As it looks while a run is watched, though there is none."""
    application.window.resize(*SIZE)
    application.start()
    application.state.show_page(Page.LIVE)
    wait(1.0)
    page = application.window.stage.page(Page.LIVE)
    assert isinstance(page, LivePage)
    page.leave()
    stack = page._stack
    stack.setCurrentWidget(page.pane)
    page.bar.setVisible(True)
    page.offers.show_offers(())
    wait(0.5)
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], default=[])
    parser.add_argument("--seconds", type=float, default=8.0)
    arguments = parser.parse_args()
    qt = QApplication(sys.argv[:1])
    arguments.folder.mkdir(parents=True, exist_ok=True)
    found = {name: recorded(name, arguments.folder) for name in arguments.cases or CASES}
    report = Report(f"CPU time per picture; load before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        application = Application(qt, home, lambda: AsyncTrainerClient(home, autostart=False))
        try:
            page = live_page(application)
            for name, each in found.items():
                cost = measure(page, each, arguments.seconds)
                report.add(
                    f"{CASES[name].env_id}, {cost.pictures:.1f} pictures/s",
                    f"window {cost.window_ms:.2f} ms ({cost.main_ms:.2f} in its own thread), "
                    f"helper {cost.helper_ms:.2f} ms",
                    f"{cost.waits:.1f} waits of the window",
                )
        finally:
            application.close()
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
