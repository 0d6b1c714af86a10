"""The workbench as a program that does what it is told, and says what it shows.

python -m tests.gui.told_window HOME

A line of standard input is the id of a command, perhaps with the run it is for: "run.pin 01K…".
Whenever something has changed, a line of JSON tells what is in the table of runs.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from PySide6.QtCore import QSocketNotifier, QTimer
from PySide6.QtWidgets import QApplication

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.runs.model.columns import Column
from mosaic.paths import Home

_LOOK_MS = 50


def main() -> None:
    home = Home(Path(sys.argv[1]))
    qt = QApplication(sys.argv[:1])
    application = Application(qt, home, lambda: AsyncTrainerClient(home, autostart=False))
    state, last = application.state, ""

    def look() -> None:
        nonlocal last
        model = application.window.runs_panel.model
        rows = {
            str(record.run_id): {
                "pinned": record.pinned,
                "state": model.index(row, Column.STATE).data(),
            }
            for record in state.runs.newest_first()
            if (row := model.place(record.run_id)) is not None
        }
        now = json.dumps({"rows": rows, "theme": application.theme.name})
        if now != last:
            last = now
            print(now, flush=True)

    def obey() -> None:
        line = os.read(0, 4096)
        if not line:
            qt.quit()
        for words in line.decode().split("\n"):
            command, _, run_id = words.partition(" ")
            if run_id:
                state.select([run_id])
            if command:
                application.workbench.commands.trigger(command)

    listening = QSocketNotifier(0, QSocketNotifier.Type.Read)
    listening.activated.connect(obey)
    looking = QTimer()
    looking.timeout.connect(look)
    looking.start(_LOOK_MS)
    application.start()
    qt.exec()
    application.close()


if __name__ == "__main__":
    main()
