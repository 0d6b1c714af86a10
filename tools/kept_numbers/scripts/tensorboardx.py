"""A bare environment class with tensorboardX: no gymnasium.make, no super().reset()."""

import random
import sys

import gymnasium
from tensorboardX import SummaryWriter


class Corridor(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(11)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.place = 0
        return self.place, {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return self.place, -1.0, self.place >= 10, False, {}


writer, env, chance = SummaryWriter("runs"), Corridor(), random.Random(1)
for episode in range(int(sys.argv[1])):
    env.reset()
    total, is_over = 0.0, False
    while not is_over:
        _, reward, is_over, _, _ = env.step(int(chance.random() < 0.7))
        total += reward
    writer.add_scalar("score", total, episode)
writer.close()
print(f"episodes {episode + 1}")
