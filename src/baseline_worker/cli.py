"""The baseline worker's program: `python -m baseline_worker.cli --config FILE`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from baseline_worker import get_worker_metadata
from baseline_worker.config import BaselineConfig
from baseline_worker.environment import begin_episode, check_environment, make_environment
from baseline_worker.policies import Policy, check_policy, make_policy
from mosaic.worker import Run, worker_main

_LONGEST_NAP_S = 0.1  # a run that is slowed down still stops at once


def check(config: BaselineConfig) -> None:
    check_environment(config.env_id)
    check_policy(config.policy, config.env_id)


def train(run: Run[BaselineConfig]) -> None:
    config = run.config
    env = make_environment(config)
    try:
        policy = make_policy(config.policy, env, config.env_id)
        run.progress(total_steps=config.total_timesteps, total_episodes=config.episodes)
        steps = episode = 0
        while steps != config.total_timesteps and episode != config.episodes:
            if run.should_stop():
                break
            steps = play_episode(run, env, policy, episode, steps)
            episode += 1
    finally:
        env.close()


def play_episode(
    run: Run[BaselineConfig], env: Any, policy: Policy, episode: int, steps: int
) -> int:
    """One episode, reported; returns the number of steps of the whole run so far."""
    config, seed = run.config, run.config.seed + episode
    started, first_step = time.perf_counter(), steps
    observation = begin_episode(env, seed)
    policy.begin_episode(seed)
    total_reward = 0.0
    terminated = truncated = False
    while not (terminated or truncated):
        if steps == config.total_timesteps or run.should_stop():
            return steps
        action = policy.act(observation)
        observation, reward, terminated, truncated, info = env.step(action)
        total_reward += float(reward)
        if config.step_telemetry:
            run.step(
                episode_index=episode,
                step_index=steps - first_step,
                action=action,
                observation=observation,
                reward=reward,
                terminated=terminated,
                truncated=truncated,
                episode_seed=seed,
                info=info,
            )
        steps += 1
        if not config.step_telemetry:
            run.progress(steps=steps)
        if config.max_steps_per_second:
            wait_until(run, started + (steps - first_step) / config.max_steps_per_second)
    length = steps - first_step
    run.episode(
        episode_index=episode,
        total_reward=total_reward,
        steps=length,
        terminated=terminated,
        truncated=truncated,
        episode_seed=seed,
        metadata={"step": steps},
    )
    run.metric("rollout/episodic_return", total_reward, steps)
    run.metric("rollout/episodic_length", length, steps)
    run.metric("charts/SPS", length / (time.perf_counter() - started), steps)
    return steps


def wait_until(run: Run[BaselineConfig], moment: float) -> None:
    while (left := moment - time.perf_counter()) > 0 and not run.should_stop():
        time.sleep(min(left, _LONGEST_NAP_S))


def main(argv: Sequence[str] | None = None) -> int:
    return worker_main(get_worker_metadata, BaselineConfig, train, argv, check=check)


if __name__ == "__main__":
    sys.exit(main())
