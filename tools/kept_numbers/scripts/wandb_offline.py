"""A table of values learned by hand and logged to W&B, offline: `wandb_offline.py EPISODES`."""

import sys

import gymnasium
import wandb

run = wandb.init(project="kept", mode="offline", dir=".", settings=wandb.Settings(console="off"))
env = gymnasium.make("FrozenLake-v1")
env.action_space.seed(1)
logged = 0
for episode in range(int(sys.argv[1])):
    env.reset(seed=episode)
    total, is_over = 0.0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total, is_over = total + float(reward), terminated or truncated
    run.log({"return": total, "inner": {"epsilon": 1 / (episode + 1)}})
    logged += 2
run.finish()
print(f"episodes {episode + 1} logged {logged}")
