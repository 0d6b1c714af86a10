"""A training that goes wrong, as they do."""

import time

import gymnasium as gym
from torch.utils.tensorboard import SummaryWriter

print("loading the policy", flush=True)
writer = SummaryWriter("logs")
environment = gym.make("CartPole-v1", render_mode="rgb_array")
environment.action_space.seed(1)
environment.reset(seed=1)
step = 0
for episode in range(40):
    total, is_over = 0.0, False
    while not is_over:
        action = environment.action_space.sample()
        _, reward, terminated, truncated, _ = environment.step(action)
        total += float(reward)
        step += 1
        is_over = terminated or truncated
    environment.reset()
    loss = 1.9**episode / 1e4
    writer.add_scalar("charts/episodic_return", total, step)
    writer.add_scalar("losses/value_loss", loss, step)
    time.sleep(0.1)
    print(f"episode {episode:3d}  return {total:3.0f}  loss {loss:.3g}", flush=True)
writer.close()
raise FloatingPointError("the loss became inf in episode 40: try a smaller learning rate")
