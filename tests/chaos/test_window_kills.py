"""The workbench is killed again and again while a run trains: nothing is lost, and it is back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from mosaic.front.catalogue import find_algorithm
from mosaic.front.training_config import Training, train_document
from tests.chaos.figures import record as tell
from tests.daemon_harness import running_daemon

pytest.importorskip("PySide6", reason="PySide6 (extra `gui`) is not installed")
pytestmark = pytest.mark.chaos

KILLS = 20
STEPS = 1_000_000


def test_a_run_does_not_notice_that_its_window_is_killed() -> None:
    with running_daemon() as daemon:
        training = Training(find_algorithm("ppo"), "CartPole-v1", total_timesteps=STEPS, seed=1)
        run_id = daemon.client.start_run(train_document(training))
        daemon.wait_for(run_id, "EXEC")
        environment = {**daemon.environment, "QT_QPA_PLATFORM": "offscreen"}
        program = [sys.executable, "-m", "tests.gui.window_program", str(daemon.home.root)]
        seconds, steps = [], []
        for number in range(KILLS):
            words = [*program, str(time.time())]
            with subprocess.Popen(
                words, env=environment, stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
            ) as window:
                assert window.stdout is not None
                giving_up = threading.Timer(60, window.kill)
                giving_up.start()
                line = window.stdout.readline()
                giving_up.cancel()
                assert line, f"window {number} ended with {window.wait()}"
                told = json.loads(line)
                seconds.append(told["seconds"])
                steps.append(told["steps"])
                assert told["run_id"] == run_id
                window.send_signal(signal.SIGKILL)
        assert steps == sorted(steps), "a window saw less of the run than the one before it"
        record = daemon.wait_over(run_id, timeout_s=300)
        assert record.outcome == "succeeded" and record.attempt == 1
        assert record.progress.steps >= STEPS
        tell(
            "21",
            f"{KILLS} windows killed: usable again after {max(seconds):.2f} s at most, "
            f"{sorted(seconds)[len(seconds) // 2]:.2f} s in the middle; the run has all its steps",
        )
