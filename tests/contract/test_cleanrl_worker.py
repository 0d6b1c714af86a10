"""The CleanRL worker keeps the worker contract, with and without a replay buffer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from mosaic.testing.worker_contract import WorkerContract

HERE = Path(__file__).parent
SMALL_PPO = {"algo_params": {"num_envs": 2, "num_steps": 32, "num_minibatches": 2}}
SMALL_DQN = {"algo_params": {"buffer_size": 500, "learning_starts": 100, "batch_size": 16}}


def config(algo: str, extras: dict[str, Any], total_timesteps: int, **more: Any) -> dict[str, Any]:
    return {
        "algo": algo,
        "env_id": "CartPole-v1",
        "total_timesteps": total_timesteps,
        "seed": 7,
        "extras": extras,
        **more,
    }


class TestCleanRLWorker(WorkerContract):
    module = "cleanrl_worker"
    tiny_config: ClassVar = config("ppo", SMALL_PPO, 512)
    long_config: ClassVar = config("ppo", SMALL_PPO, 10**12)
    # Registers an environment that raises in its third step.
    crashing_config: ClassVar = config(
        "ppo", SMALL_PPO, 512, env_id="crashing_environment:Crashing-v0"
    )
    environment: ClassVar = {"PYTHONPATH": str(HERE)}


class TestCleanRLWorkerWithReplay(WorkerContract):
    module = "cleanrl_worker"
    tiny_config: ClassVar = config("dqn", SMALL_DQN, 400)
    long_config: ClassVar = config("dqn", SMALL_DQN, 10**12)
