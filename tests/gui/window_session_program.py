"""The workbench as a program of its own, which a test kills and starts again.

python -m tests.gui.window_session_program HOME [RUN]

With RUN somebody sits in front of it: selects the run, opens its replay and a tab, and fills in the
form. Whenever the window is somewhere else it says so in a line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.state.targets import Operation, ReplayTarget
from mosaic.paths import Home

_LOOK_MS = 50


def place(application: Application) -> dict[str, Any]:
    state, panel = application.state, application.window.launch_panel
    form = panel.form.form
    return {
        "selection": list(state.selection),
        "page": state.page.value,
        "episode": state.replay.episode if state.replay else None,
        "tab": application.window.tabs_panel.current_id,
        "env_id": state.env_id,
        "worker": panel.launch.worker,
        "operation": panel.launch.operation.value,
        "values": {name: form.value(name) for name in form.changed_values(has_secrets=False)},
        "has_secret": bool(form.value("wandb_api_key")) if "wandb_api_key" in form else False,
    }


def use(application: Application, run_id: str) -> None:
    state, panel = application.state, application.window.launch_panel
    state.select([run_id])
    state.show_replay(ReplayTarget(run_id, 3))
    state.ask_tab("checkpoints")
    state.choose_environment("Acrobot-v1")
    panel.launch.choose("cleanrl")
    panel.launch.set_operation(Operation.TRAIN)
    form = panel.form.form
    form.set("algo", "dqn")
    form.set("learning_rate", "0.002")
    form.set("total_timesteps", "123,456")
    form.set("track_wandb", True)
    form.set("wandb_api_key", "correct-horse-battery-staple")


def main() -> None:
    home = Home(Path(sys.argv[1]))
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    qt = QApplication(sys.argv[:1])
    application = Application(qt, home, lambda: AsyncTrainerClient(home, autostart=False))
    state = application.state
    looking = QTimer()
    told: list[str] = []
    notices: list[str] = []
    state.said.connect(lambda notice: notices.append(notice.text))

    def look() -> None:
        is_shown = state.details is not None and bool(state.algorithms and state.workers)
        if not is_shown:
            return
        if wanted and not told:
            use(application, wanted)
        text = json.dumps({**place(application), "notices": notices})
        if not told or told[-1] != text:
            told.append(text)
            print(text, flush=True)

    looking.timeout.connect(look)
    looking.start(_LOOK_MS)
    application.start()
    qt.exec()
    application.close()


if __name__ == "__main__":
    main()
