"""REINFORCE on CartPole in plain torch. It logs nothing: all it does is print.

    mosaic watch -- python reinforce.py --episodes 300

Episodes, returns, steps and live frames are in the run all the same.
"""

import argparse
import hashlib

import gymnasium as gym
import numpy as np
import torch
from torch import nn


def play(env: gym.Env, policy: nn.Module) -> tuple[torch.Tensor, list[float]]:
    """One episode: the log-probabilities of its actions, and its rewards."""
    observation, _ = env.reset()
    log_probs, rewards, is_over = [], [], False
    while not is_over:
        logits = policy(torch.as_tensor(observation, dtype=torch.float32))
        choice = torch.distributions.Categorical(logits=logits)
        action = choice.sample()
        observation, reward, terminated, truncated, _ = env.step(int(action))
        log_probs.append(choice.log_prob(action))
        rewards.append(float(reward))
        is_over = terminated or truncated
    return torch.stack(log_probs), rewards


def returns_to_go(rewards: list[float], discount: float) -> torch.Tensor:
    found, total = np.zeros(len(rewards), dtype=np.float32), 0.0
    for index in reversed(range(len(rewards))):
        total = rewards[index] + discount * total
        found[index] = total
    return torch.from_numpy((found - found.mean()) / (found.std() + 1e-6))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    env = gym.make("CartPole-v1")
    env.reset(seed=args.seed)
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    recent: list[float] = []
    for episode in range(1, args.episodes + 1):
        log_probs, rewards = play(env, policy)
        loss = -(log_probs * returns_to_go(rewards, 0.99)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent = [*recent[-49:], sum(rewards)]
        if episode % 50 == 0:
            print(f"episode {episode}: mean return {np.mean(recent):.1f}", flush=True)
    env.close()

    # The same with and without a watcher: run it both ways and compare.
    weights = b"".join(value.numpy().tobytes() for value in policy.state_dict().values())
    print("weights", hashlib.sha256(weights).hexdigest())


if __name__ == "__main__":
    main()
