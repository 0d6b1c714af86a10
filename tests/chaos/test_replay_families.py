"""Random episodes of runs in all environment families, played again: are they the same?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from mosaic.replay.simulation import verify
from mosaic.replay.verdict import IDENTICAL, ReplayVerdict
from tests.daemon_harness import DaemonHarness, running_daemon

pytestmark = pytest.mark.chaos

EPISODES = 100
SEED = 5
RUN_LIMIT_S = 300.0


class Case(NamedTuple):
    """A run to be replayed."""

    family: str
    worker: str
    config: dict[str, Any]


def played(family: str, env_id: str, policy: str = "random", episodes: int = 6) -> Case:
    config = {"env_id": env_id, "policy": policy, "episodes": episodes, "seed": SEED}
    return Case(family, "baseline", config)


def trained(family: str, algo: str, env_id: str, steps: int, **parameters: Any) -> Case:
    config = {"algo": algo, "env_id": env_id, "total_timesteps": steps, "seed": SEED}
    extras = {"algo_params": {"threads": 1, **parameters}}
    return Case(family, "cleanrl", {**config, "extras": extras})


ROLLOUT = {"num_steps": 64, "num_minibatches": 2, "update_epochs": 1}
SHORT = {"learning_starts": 400, "buffer_size": 4000, "batch_size": 32}
CASES = (
    played("classic_control", "CartPole-v1", "heuristic"),
    played("classic_control", "Acrobot-v1", "heuristic"),
    played("classic_control", "Pendulum-v1"),
    played("classic_control", "MountainCarContinuous-v0", "heuristic"),
    played("toy_text", "FrozenLake-v1"),
    played("toy_text", "Taxi-v4", "heuristic"),
    played("toy_text", "Blackjack-v1"),
    played("box2d", "LunarLander-v3", "heuristic"),
    played("box2d", "BipedalWalker-v3"),
    played("minigrid", "minigrid:MiniGrid-Dynamic-Obstacles-6x6-v0"),
    played("atari", "ale_py:ALE/Breakout-v5"),
    played("mujoco", "Hopper-v5"),
    trained("classic_control", "ppo", "CartPole-v1", 3000, **ROLLOUT),
    trained("classic_control", "dqn", "Acrobot-v1", 4000, **SHORT),
    trained("classic_control", "td3_continuous_action", "Pendulum-v1", 2000, **SHORT),
    trained("toy_text", "ppo", "Taxi-v4", 4000, **ROLLOUT),
    trained("box2d", "ppo", "LunarLander-v3", 6000, **ROLLOUT),
    trained("mujoco", "sac_continuous_action", "Hopper-v5", 1500, **SHORT),
    trained("mujoco", "ppo_continuous_action", "HalfCheetah-v5", 4500, num_envs=2, num_steps=256),
    trained("minigrid", "ppo", "MiniGrid-DoorKey-5x5-v0", 6000, **ROLLOUT),
    trained("atari", "ppo_atari", "ALE/Breakout-v5", 3000, num_steps=32, num_envs=4),
    trained("dm_control", "ppo_continuous_action", "dm_control/cartpole-balance-v0", 4500),
)


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


def finished_runs(daemon: DaemonHarness) -> dict[str, tuple[Case, int]]:
    """By id, with the number of their episodes."""
    runs = {
        daemon.submit(
            entry_point=case.worker,
            resources={"cpus": 1, "memory_mb": 2048},
            metadata={"worker": {"config": case.config}},
        ): case
        for case in CASES
    }
    counted = {}
    for run_id, case in runs.items():
        record = daemon.wait_over(run_id, RUN_LIMIT_S)
        assert record.outcome == "succeeded", f"{case}: {record.failure} {record.stderr_tail}"
        assert record.progress.episodes > 0, case
        counted[run_id] = case, record.progress.episodes
    return counted


def random_episodes(runs: dict[str, tuple[Case, int]]) -> list[tuple[str, int]]:
    """About as many of each run, as far as it has them: some have thousands of short ones."""
    chooser = random.Random(SEED)
    chosen: set[tuple[str, int]] = set()
    most = sum(episodes for _, episodes in runs.values())
    while len(chosen) < min(EPISODES, most):
        run_id = chooser.choice(list(runs))
        chosen.add((run_id, chooser.randrange(runs[run_id][1])))
    return sorted(chosen)


def test_random_episodes_of_all_families(daemon: DaemonHarness) -> None:
    runs = finished_runs(daemon)
    episodes = random_episodes(runs)

    def compared(episode: tuple[str, int]) -> ReplayVerdict:
        return verify(daemon.client.get_recording(*episode))

    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(compared, episodes))
    found: Counter[tuple[str, str, str]] = Counter()
    for (run_id, number), verdict in zip(episodes, verdicts, strict=True):
        case, _ = runs[run_id]
        found[case.family, case.worker, verdict.kind] += 1
        if not verdict.is_identical:
            print(f"\n{case.config['env_id']} ({case.worker}) episode {number}: {verdict.sentence}")
    for (family, worker, kind), count in sorted(found.items()):
        print(f"{family:16} {worker:10} {kind:10} {count}")
    kinds = Counter(verdict.kind for verdict in verdicts)
    steps = sum(verdict.steps for verdict in verdicts)
    print(f"{len(verdicts)} episodes, {steps:,} steps: {dict(kinds)}")
    assert kinds == {IDENTICAL: len(episodes)}
