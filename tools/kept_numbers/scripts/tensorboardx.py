"""A bare environment class with tensorboardX: no gymnasium.make, no super().reset()."""

import random
import sys
from typing import Any

import gymnasium
from tensorboardX import SummaryWriter


class Corridor(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Discrete(11)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.place = 0
        return self.place, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.place = max(0, self.place + (1 if action else -1))
        return self.place, -1.0, self.place >= 10, False, {}


writer, env, chance = SummaryWriter("runs"), Corridor(), random.Random(1)
for episode in range(int(sys.argv[1])):
    env.reset()
    total, is_over = 0.0, False
    while not is_over:
        reward, is_over = env.step(int(chance.random() < 0.7))[1:3]
        total += reward
    writer.add_scalar("score", total, episode)
writer.close()
print(f"episodes {episode + 1}")
