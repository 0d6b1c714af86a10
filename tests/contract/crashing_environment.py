"""An environment that breaks down in its third step."""

from __future__ import annotations

from typing import Any

import gymnasium


class Crashing(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        if self.steps == 3:
            raise RuntimeError("the simulated motor burnt out")
        return 0, 0.0, False, False, {}


gymnasium.register("Crashing-v0", entry_point=f"{__name__}:Crashing")
