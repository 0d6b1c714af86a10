"""A program that shows frames: a square that moves over blue, in some environments.

python -m tests.integration.showing_program WIDTH HEIGHT ENVIRONMENTS
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from numpy.typing import NDArray

from mosaic.fastlane.lane import Lane
from mosaic.fastlane.settings import read_settings
from mosaic.fastlane.slot_writer import Metrics

BLUE, RED = (20, 60, 200), (220, 30, 30)
STEP_S = 0.002


def main() -> None:
    width, height, environments = (int(word) for word in sys.argv[1:4])
    step = 0

    def render() -> NDArray[np.uint8]:
        frame = np.full((height, width, 3), BLUE, np.uint8)
        side = height // 4
        left = step % (width - side)
        frame[side : 2 * side, left : left + side] = RED
        return frame

    def metrics() -> Metrics:
        return Metrics(step, step // 100, 1.0, 42.5)

    lane = Lane(read_settings(os.environ), print)
    taps = [lane.tap(render, metrics) for _ in range(environments)]
    while True:
        step += 1
        for tap in taps:
            if tap is not None and tap.is_due:
                tap.show()
        time.sleep(STEP_S)


if __name__ == "__main__":
    main()
