"""A loop of one's own with torch's SummaryWriter: `plain_torch.py EPISODES`."""

import sys

import gymnasium
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs")
env = gymnasium.make("CartPole-v1")
env.reset(seed=1)
env.action_space.seed(1)
step, episodes = 0, int(sys.argv[1])
for _episode in range(episodes):
    env.reset()
    total, is_over = 0.0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        step, total, is_over = step + 1, total + float(reward), terminated or truncated
        writer.add_scalar("reward", float(reward), step)
    writer.add_scalar("return", total, step)
    # Twice the same point, as two environments that end together have it.
    writer.add_scalar("return", total, step)
writer.close()
print(f"episodes {episodes}")
