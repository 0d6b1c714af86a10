"""Stable-Baselines3 with TensorBoard and a monitor: `sb3.py PPO|DQN|A2C STEPS`."""

import sys

import stable_baselines3
from stable_baselines3.common.env_util import make_vec_env

name, steps = sys.argv[1], int(sys.argv[2])
kind = getattr(stable_baselines3, name)
environments = make_vec_env("CartPole-v1", 1 if name == "DQN" else 4, seed=1, monitor_dir="monitor")
options = {"learning_starts": 100} if name == "DQN" else {}
model = kind("MlpPolicy", environments, tensorboard_log="runs", seed=1, device="cpu", **options)
model.learn(steps, log_interval=1)
