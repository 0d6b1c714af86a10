"""Advantage actor-critic: environments in processes of their own, TensorBoard, checkpoints.

    mosaic watch -- python actor_critic.py --updates 400

The scalars keep the names they have here; the runs/ and checkpoints/ folders are found.
"""

import argparse
import hashlib
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import flatdim
from torch import nn
from torch.utils.tensorboard import SummaryWriter


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--envs", type=int, default=4)
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--horizon", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    envs = gym.vector.AsyncVectorEnv([lambda: gym.make(args.env)] * args.envs)
    body = nn.Sequential(nn.Linear(flatdim(envs.single_observation_space), 64), nn.Tanh())
    actor, critic = nn.Linear(64, flatdim(envs.single_action_space)), nn.Linear(64, 1)
    model = nn.ModuleDict({"body": body, "actor": actor, "critic": critic})
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    writer = SummaryWriter(f"runs/a2c-seed{args.seed}")
    Path("checkpoints").mkdir(exist_ok=True)

    observation, _ = envs.reset(seed=args.seed)
    running = np.zeros(args.envs)  # the returns of episodes that are still going
    for update in range(1, args.updates + 1):
        log_probs, values, rewards, alive, entropies = [], [], [], [], []
        for _ in range(args.horizon):
            hidden = body(torch.as_tensor(observation, dtype=torch.float32))
            choice = torch.distributions.Categorical(logits=actor(hidden))
            action = choice.sample()
            observation, reward, terminated, truncated, _ = envs.step(action.numpy())
            is_over = terminated | truncated
            running += reward
            for finished in running[is_over]:
                writer.add_scalar("charts/reward", finished, update * args.horizon * args.envs)
            running[is_over] = 0.0
            log_probs.append(choice.log_prob(action))
            entropies.append(choice.entropy())
            values.append(critic(hidden).squeeze(-1))
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            alive.append(torch.as_tensor(~is_over, dtype=torch.float32))
        with torch.no_grad():
            target = critic(body(torch.as_tensor(observation, dtype=torch.float32))).squeeze(-1)
        targets: list[torch.Tensor] = []
        for gained, still in zip(reversed(rewards), reversed(alive), strict=True):
            target = gained + 0.99 * still * target
            targets.insert(0, target)
        advantage = torch.stack(targets) - torch.stack(values)
        policy_loss = -(torch.stack(log_probs) * advantage.detach()).mean()
        value_loss = advantage.pow(2).mean()
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss - 0.01 * torch.stack(entropies).mean()).backward()
        optimizer.step()
        step = update * args.horizon * args.envs
        writer.add_scalar("loss/policy", policy_loss, step)
        writer.add_scalar("loss/value", value_loss, step)
        if update % 100 == 0:
            torch.save(model.state_dict(), f"checkpoints/a2c_{step}.pt")
    envs.close()
    writer.close()
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    print("weights", hashlib.sha256(weights).hexdigest())


if __name__ == "__main__":
    main()
