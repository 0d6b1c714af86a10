"""How long `mosaic gui` takes from its start to a window that can be used, and to live pictures.

    python -m benchmarks.gui_start [--times 5] [--json]

Each start is a process of its own, without a screen (Qt's offscreen platform draws as always), in
a home whose daemon is at work. The baseline opens a bare PySide6 window. A window can
be used once its first picture is drawn and its event loop has nothing left to do. Then a training
is started, and the time is taken until a new window shows the first frame of it. The first start of
each, which reads files from the disk, is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.report import Report

TARGET_S = 2.0
FRAME = "first frame of a training"
BARE_WINDOW = """
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow
application = QApplication([])
window = QMainWindow()
window.setCentralWidget(QLabel("bare"))
window.resize(1280, 800)
window.show()
def shown():
    print("shown", flush=True)
    application.quit()
QTimer.singleShot(0, shown)
application.exec()
"""

# The window opens on the newest run; its page shows whatever the training draws for it.
FIRST_FRAME = """
import os
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.state.targets import Page
from mosaic.paths import Home
qt = QApplication([])
home = Home(Path(os.environ["MOSAIC_HOME"]))
application = Application(qt, home, lambda: AsyncTrainerClient(home, autostart=False))
looking = QTimer()
def look():
    if application.state.page is not Page.LIVE:
        return
    if application.window.stage.page(Page.LIVE).canvas._tiles:
        print("shown", flush=True)
        qt.quit()
looking.timeout.connect(look)
looking.start(5)
application.start()
qt.exec()
application.close()
"""


def seconds_to_shown(command: list[str], environment: dict[str, str]) -> float:
    """From the start of the process to its line that says so."""
    began = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        took = time.perf_counter() - began
    assert line == b"shown\n" and process.returncode == 0, (line, process.returncode)
    return took


def measure(times: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as home:
        environment = {**os.environ, "MOSAIC_HOME": home, "QT_QPA_PLATFORM": "offscreen"}
        mosaic = [sys.executable, "-m", "mosaic.cli"]
        commands = {
            "bare PySide6 window": [sys.executable, "-c", BARE_WINDOW],
            "mosaic gui": [*mosaic, "gui", "--exit-when-shown"],
        }
        subprocess.run(
            [*mosaic, "daemon", "start"], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        try:
            # In turns: what else the machine does then weighs on both alike.
            rounds = [
                {name: seconds_to_shown(command, environment) for name, command in commands.items()}
                for _ in range(times + 1)
            ]
            training = [
                "train",
                "--detach",
                "ppo",
                "CartPole-v1",
                "--total-timesteps",
                "100_000_000",
            ]
            subprocess.run(
                [*mosaic, *training], env=environment, check=True, stdout=subprocess.DEVNULL
            )
            for taken in rounds:
                taken[FRAME] = seconds_to_shown([sys.executable, "-c", FIRST_FRAME], environment)
        finally:
            subprocess.run(
                [*mosaic, "daemon", "stop", "--kill-runs"],
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
    return {name: [taken[name] for taken in rounds[1:]] for name in (*commands, FRAME)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="starts of each")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    taken = measure(arguments.times)
    if arguments.json:
        print(json.dumps(taken, indent=2))
        return
    bare, gui, frame = (statistics.median(values) for values in taken.values())
    report = Report(
        f"From the start of the process to a usable window, median of {arguments.times}"
    )
    report.add("bare PySide6 window", f"{1000 * bare:.0f} ms", "baseline")
    report.add("mosaic gui", f"{1000 * gui:.0f} ms", f"{gui / bare:.1f} times the bare window")
    report.add(FRAME, f"{1000 * frame:.0f} ms", f"{frame / bare:.1f} times the bare window")
    report.add(
        "target of the window", f"{1000 * TARGET_S:.0f} ms", f"{gui / TARGET_S:.2f} of it used"
    )
    report.print()


if __name__ == "__main__":
    main()
