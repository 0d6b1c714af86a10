"""An environment whose frames are of one shade each: a torn frame has two.

Gymnasium finds it as `tests.chaos.shade_environment:Shade-v0` where this repository is on the path.
"""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

ENV_ID = "tests.chaos.shade_environment:Shade-v0"
PAUSE_VARIABLE = "SHADE_PAUSE_MS"  # how long a step takes
SIDE = 480
EPISODE = 50

Observation = NDArray[np.float32]


class ShadeEnv(gymnasium.Env[Observation, int]):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012  # the base class has it so

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)  # type: ignore[assignment]
        self._pause_s = float(os.environ.get(PAUSE_VARIABLE, "0")) / 1000
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(4, np.float32), {}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        time.sleep(self._pause_s)
        return np.zeros(4, np.float32), 1.0, self._steps % EPISODE == 0, False, {}

    def render(self) -> Any:
        # Never black: that is what a tile without a frame looks like.
        return np.full((SIDE, SIDE, 3), 1 + self._steps % 255, np.uint8)


gymnasium.register("Shade-v0", entry_point=f"{__name__}:ShadeEnv")
