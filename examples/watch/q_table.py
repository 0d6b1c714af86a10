"""Tabular Q-learning on FrozenLake, logged to W&B without a network connection.

    mosaic watch -- python q_table.py --episodes 2000

What goes to wandb.log is in the run as well, and so is the folder of the W&B run.
"""

import argparse
import hashlib

import gymnasium as gym
import numpy as np
import wandb
from gymnasium.spaces import flatdim


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", default="FrozenLake-v1")
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--gamma", type=float, default=0.98)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    run = wandb.init(project="q-table", mode="offline", config=vars(args))
    rng = np.random.default_rng(args.seed)
    env = gym.make(args.env)
    q = np.zeros((flatdim(env.observation_space), flatdim(env.action_space)))
    wins: list[float] = []
    for episode in range(args.episodes):
        epsilon = max(0.05, 1.0 - episode / (0.6 * args.episodes))
        state, _ = env.reset(seed=args.seed if episode == 0 else None)
        total, length, errors, is_over = 0.0, 0, [], False
        while not is_over:
            explores = rng.random() < epsilon
            best = np.flatnonzero(q[state] == q[state].max())
            action = int(rng.integers(q.shape[1]) if explores else rng.choice(best))
            following, reward, terminated, truncated, _ = env.step(action)
            target = reward + args.gamma * (not terminated) * q[following].max()
            errors.append(target - q[state, action])
            q[state, action] += args.alpha * errors[-1]
            state, total, length = following, total + float(reward), length + 1
            is_over = terminated or truncated
        wins.append(total)
        wandb.log(
            {
                "episode_return": total,
                "episode_length": length,
                "epsilon": epsilon,
                "td": {"error": float(np.mean(np.square(errors))), "max_q": q.max()},
            }
        )
    env.close()
    run.summary["success_rate"] = float(np.mean(wins[-200:]))
    wandb.finish()
    print("success rate", np.mean(wins[-200:]))
    print("weights", hashlib.sha256(q.tobytes()).hexdigest())


if __name__ == "__main__":
    main()
