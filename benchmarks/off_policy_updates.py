"""Updates per second of DDPG, TD3 and SAC, against plain autograd and Adam in the same process.

    python -m benchmarks.off_policy_updates [--seconds 4] [--threads 2] [--json]

Shapes and hyperparameters are those of Hopper-v4 with CleanRL's defaults; one update is sampling a
batch of 256 and learning from it. The plain versions do what the textbook says, one call per line.
The contenders take turns, and the fastest of their turns counts, so other processes hardly matter.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the worker's entry points do

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from benchmarks.report import Report
from cleanrl_worker.accelerators.learners import ReplayLearner
from cleanrl_worker.agents.continuous_control import (
    ActionCritic,
    ActionRange,
    DeterministicActor,
    SoftActor,
)
from cleanrl_worker.algorithms import ddpg, sac, td3
from cleanrl_worker.arguments import Arguments
from cleanrl_worker.kit.replay_buffers import ReplayBuffer
from cleanrl_worker.kit.session import Session

OBSERVATION_SIZE, ACTIONS = 11, ActionRange(-np.ones(3), np.ones(3))
BATCH, GAMMA, TAU, TURN = 256, 0.99, 0.005, 20
CPU = torch.device("cpu")

Update = Callable[[int], None]


def filled_buffer() -> ReplayBuffer:
    rng = np.random.default_rng(0)
    buffer = ReplayBuffer(100_000, (OBSERVATION_SIZE,), np.float32, (ACTIONS.size,), np.float32)
    for _ in range(10_000):
        observations, successors = rng.normal(size=(2, 1, OBSERVATION_SIZE))
        ended = rng.random(1) < 0.01
        buffer.add(observations, successors, ACTIONS.random(1, rng), rng.normal(size=1), ended)
    return buffer


def adam(*modules: nn.Module, rate: float = 3e-4) -> torch.optim.Adam:
    return torch.optim.Adam([p for module in modules for p in module.parameters()], lr=rate)


def descend(optimizer: torch.optim.Adam, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def follow(target: nn.Module, module: nn.Module) -> None:
    for old, new in zip(target.parameters(), module.parameters(), strict=True):
        old.data.copy_(TAU * new.data + (1 - TAU) * old.data)


class PlainDeterministic:
    """DDPG with one critic, TD3 with two."""

    def __init__(self, num_critics: int) -> None:
        self.actor = DeterministicActor(OBSERVATION_SIZE, ACTIONS)
        self.critics = [ActionCritic(OBSERVATION_SIZE, ACTIONS.size) for _ in range(num_critics)]
        self.old_actor, self.old_critics = copy.deepcopy((self.actor, self.critics))
        self.actor_adam, self.critic_adam = adam(self.actor), adam(*self.critics)

    def update(self, buffer: ReplayBuffer, rng: np.random.Generator, iteration: int) -> None:
        now, then, actions, rewards, ends = map(torch.from_numpy, buffer.sample(BATCH, rng))
        with torch.no_grad():
            next_actions = self.old_actor(then)
            if len(self.critics) > 1:
                noise = (torch.randn_like(actions) * 0.2).clamp(-0.5, 0.5) * ACTIONS.scale[0]
                next_actions = (next_actions + noise).clamp(-1.0, 1.0)
            lowest = torch.stack([old(then, next_actions) for old in self.old_critics]).amin(0)
            targets = rewards + (1 - ends) * GAMMA * lowest.view(-1)
        losses = [F.mse_loss(critic(now, actions).view(-1), targets) for critic in self.critics]
        descend(self.critic_adam, torch.stack(losses).sum())
        if iteration % 2 == 0:
            descend(self.actor_adam, -self.critics[0](now, self.actor(now)).mean())
            follow(self.old_actor, self.actor)
            for old, critic in zip(self.old_critics, self.critics, strict=True):
                follow(old, critic)


class PlainSoft:
    """SAC, with the entropy's worth learnt."""

    def __init__(self) -> None:
        self.actor = SoftActor(OBSERVATION_SIZE, ACTIONS)
        self.critics = [ActionCritic(OBSERVATION_SIZE, ACTIONS.size) for _ in range(2)]
        self.old_critics = copy.deepcopy(self.critics)
        self.actor_adam, self.critic_adam = adam(self.actor), adam(*self.critics, rate=1e-3)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_adam = torch.optim.Adam([self.log_alpha], lr=1e-3)
        self.alpha = 1.0

    def sample(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self.actor(observations)
        normal = torch.distributions.Normal(mean, log_std.exp())
        raw = normal.rsample()
        squashed = torch.tanh(raw)
        scale, bias = self.actor.action_scale, self.actor.action_bias
        log_probability = normal.log_prob(raw) - torch.log(scale * (1 - squashed**2) + 1e-6)
        return squashed * scale + bias, log_probability.sum(1, keepdim=True)

    def update(self, buffer: ReplayBuffer, rng: np.random.Generator, iteration: int) -> None:
        now, then, actions, rewards, ends = map(torch.from_numpy, buffer.sample(BATCH, rng))
        with torch.no_grad():
            next_actions, log_probability = self.sample(then)
            first, second = (old(then, next_actions) for old in self.old_critics)
            soft = torch.min(first, second) - self.alpha * log_probability
            targets = rewards + (1 - ends) * GAMMA * soft.view(-1)
        losses = [F.mse_loss(critic(now, actions).view(-1), targets) for critic in self.critics]
        descend(self.critic_adam, losses[0] + losses[1])
        if iteration % 2 == 0:
            for _ in range(2):
                self.update_actor(now)
        for old, critic in zip(self.old_critics, self.critics, strict=True):
            follow(old, critic)

    def update_actor(self, now: Tensor) -> None:
        chosen, log_probability = self.sample(now)
        lowest = torch.min(*(critic(now, chosen) for critic in self.critics))
        descend(self.actor_adam, (self.alpha * log_probability - lowest).mean())
        with torch.no_grad():
            _, log_probability = self.sample(now)
        descend(self.alpha_adam, (-self.log_alpha.exp() * (log_probability - ACTIONS.size)).mean())
        self.alpha = self.log_alpha.exp().item()


class NoReporter:
    """A learner is measured alone: nobody is told anything."""

    def should_stop(self) -> bool:
        return False

    def metric(self, name: str, value: float, step: int) -> None: ...
    def episode(self, **_: Any) -> None: ...
    def progress(self, *, steps: int, total_steps: int | None = None) -> None: ...
    def flush(self) -> None: ...
    def checkpoint_saved(self, *_: Any, **__: Any) -> None: ...
    def checkpoint_loaded(self, *_: Any, **__: Any) -> None: ...
    def note(self, text: str) -> None: ...


def session_of(arguments: Arguments) -> Session:
    return Session(arguments, CPU, NoReporter())


def accelerated() -> dict[str, ReplayLearner]:
    """Ours, as trainings use them."""
    shape = OBSERVATION_SIZE, ACTIONS, CPU
    ddpg_arguments, td3_arguments = ddpg.DDPGArguments(), td3.TD3Arguments()
    sac_arguments = sac.SACArguments()
    return {
        "ddpg": ddpg.make_learner(
            ddpg.DDPGLearner(ddpg_arguments, *shape), ddpg_arguments, session_of(ddpg_arguments)
        ),
        "td3": td3.make_learner(
            td3.TD3Learner(td3_arguments, *shape), td3_arguments, session_of(td3_arguments)
        ),
        "sac": sac.make_learner(
            sac.SACLearner(sac_arguments, *shape), sac_arguments, session_of(sac_arguments)
        ),
    }


def contenders(buffer: ReplayBuffer) -> dict[str, tuple[Update, Update]]:
    """Plain and ours, by algorithm."""
    rng = np.random.default_rng(1)
    plain: dict[str, PlainDeterministic | PlainSoft] = {
        "ddpg": PlainDeterministic(1),
        "td3": PlainDeterministic(2),
        "sac": PlainSoft(),
    }

    def pair(plain: PlainDeterministic | PlainSoft, ours: ReplayLearner) -> tuple[Update, Update]:
        return (
            lambda iteration: plain.update(buffer, rng, iteration),
            lambda iteration: ours.update(buffer.sample(BATCH, rng), iteration),
        )

    return {name: pair(plain[name], ours) for name, ours in accelerated().items()}


def updates_per_second(update: Update) -> float:
    start = time.perf_counter()
    for iteration in range(TURN):
        update(iteration)
    return TURN / (time.perf_counter() - start)


def fastest_turns(updates: tuple[Update, Update], seconds: float) -> list[float]:
    best = [0.0, 0.0]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        best = [max(old, updates_per_second(u)) for old, u in zip(best, updates, strict=True)]
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="per algorithm")
    parser.add_argument("--threads", type=int, default=2, help="of torch")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)  # as the worker does; the plain versions gain from it, too
    torch.manual_seed(1)
    measured = {
        name: fastest_turns(updates, arguments.seconds)
        for name, updates in contenders(filled_buffer()).items()
    }
    if arguments.json:
        print(json.dumps({name: {"plain": a, "ours": b} for name, (a, b) in measured.items()}))
        return
    report = Report(f"Off-policy updates, {arguments.threads} threads")
    for name, (plain, ours) in measured.items():
        report.add(f"{name}, plain torch", f"{plain:.0f} updates/s", "1")
        report.add(f"{name}, ours", f"{ours:.0f} updates/s", f"{ours / plain:.2f} of plain")
    report.print()


if __name__ == "__main__":
    main()
