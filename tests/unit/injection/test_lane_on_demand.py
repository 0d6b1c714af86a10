"""A live view that is looked for only when somebody asks it to, and then is the usual one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.settings import Settings
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.viewer import Viewer
from mosaic.injection.lane_on_demand import LaneOnDemand
from tests.waiting import wait_until


def render() -> Any:
    return np.zeros((8, 10, 3), np.uint8)


def test_a_viewer_is_seen_when_somebody_looks_and_the_pulse_ends_with_the_lane(
    tmp_path: Path,
) -> None:
    errors: list[str] = []
    path = segment_path("01RUN", tmp_path)
    before = set(threading.enumerate())
    lane = LaneOnDemand(Settings(segment=str(path), interval_s=0.0), errors.append)
    lane.look()  # nothing to see yet
    tap = lane.tap(render, Metrics)
    assert tap is not None
    (pulse,) = set(threading.enumerate()) - before
    viewer = Viewer(path)

    def is_shown() -> bool:
        lane.look()
        if tap.is_due:
            tap.show()
        return viewer.poll().picture is not None

    for _ in range(2):  # also the frames after the first one
        wait_until(is_shown, what="a frame")
    viewer.close()
    lane.close()
    assert not pulse.is_alive()
    assert not errors
