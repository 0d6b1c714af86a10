"""The workbench as a program of its own, which says on standard output when it is usable.

python -m tests.gui.window_program HOME STARTED

STARTED is when that was typed, in seconds since 1970.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.paths import Home

_LOOK_MS = 5


def main() -> None:
    home = Home(Path(sys.argv[1]))
    qt = QApplication(sys.argv[:1])
    application = Application(qt, home, lambda: AsyncTrainerClient(home, autostart=False))
    looking = QTimer()

    def look() -> None:
        """Usable: the run is listed and selected, and its details are here."""
        details = application.state.details
        if details is None:
            return
        looking.stop()
        since_start = time.time() - float(sys.argv[2])
        print(
            json.dumps(
                {
                    "seconds": since_start,
                    "run_id": details.run_id,
                    "steps": details.progress.steps,
                    "state": details.state.value,
                }
            ),
            flush=True,
        )

    looking.timeout.connect(look)
    looking.start(_LOOK_MS)
    application.start()
    qt.exec()
    application.close()


if __name__ == "__main__":
    main()
