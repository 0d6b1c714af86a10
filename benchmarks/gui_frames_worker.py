"""A worker for `benchmarks.gui_frames`: shows eight environments and emits so many events.

    python -m benchmarks.gui_frames_worker EVENTS_A_SECOND

A daemon runs it as a plain program, since it is not installed; so it finds its journal by itself.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.worker_environment import JOURNAL, RUN_DIR
from mosaic.fastlane.lane import Lane
from mosaic.fastlane.settings import read_settings
from mosaic.fastlane.slot_writer import Metrics
from mosaic.worker import Run, WorkerCapabilities, worker_main

TILES, WIDTH, HEIGHT = 8, 341, 227
METRICS = ("charts/episodic_return", "charts/SPS", "losses/value_loss", "losses/policy_loss")
_TICK_S = 0.004


@dataclass(frozen=True)
class Load:
    """All it needs to know is on its command line."""


def get_worker_metadata() -> WorkerCapabilities:
    return WorkerCapabilities("benchmark")


def train(run: Run[Load]) -> None:
    frames = [np.full((HEIGHT, WIDTH, 3), shade, np.uint8) for shade in range(0, 250, 10)]
    per_tick = round(int(sys.argv[1]) * _TICK_S)
    step = 0
    lane = Lane(read_settings(os.environ), print)
    taps = [
        lane.tap(lambda: frames[step % len(frames)], lambda: Metrics(step, 0, 1.0, 42.0))
        for _ in range(TILES)
    ]
    due = time.monotonic()
    while not run.should_stop():
        step += 1
        for number in range(per_tick):
            run.metric(METRICS[number % len(METRICS)], float(step % 500), step)
        for tap in taps:
            if tap is not None and tap.is_due:
                tap.show()
        # What was missed for lack of a processor is made up for, but not for ever.
        due = max(due + _TICK_S, time.monotonic() - 1.0)
        time.sleep(max(0.0, due - time.monotonic()))
    lane.close()


if __name__ == "__main__":
    os.environ[JOURNAL] = str(RunFiles(Path(os.environ[RUN_DIR])).journal)
    sys.exit(worker_main(get_worker_metadata, Load, train, []))
