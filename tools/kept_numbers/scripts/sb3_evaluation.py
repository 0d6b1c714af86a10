"""Stable-Baselines3 that evaluates while it trains; its evaluations are no training."""

import sys

import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.monitor import Monitor

steps = int(sys.argv[1])
judged = Monitor(gymnasium.make("CartPole-v1"))
callback = EvalCallback(judged, eval_freq=1000, n_eval_episodes=5, verbose=0)
trained = Monitor(gymnasium.make("CartPole-v1"), "monitor")
model = PPO("MlpPolicy", trained, n_steps=512, tensorboard_log="runs", seed=1, device="cpu")
model.learn(steps, callback=callback)
