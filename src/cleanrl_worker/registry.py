"""The algorithms by name: which module trains, with which preset. Imports nothing heavy.

A preset is what sets a name apart from its module's defaults; the values are those CleanRL
published, so that results compare.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic.worker import ConfigError

_MODULES = "cleanrl_worker.algorithms"
DISCRETE, CONTINUOUS = "discrete", "continuous"
VECTOR, IMAGE = "vector", "image"


@dataclass(frozen=True)
class Algorithm:
    name: str
    module: str
    summary: str
    action_spaces: tuple[str, ...]
    observation_spaces: tuple[str, ...] = (VECTOR, IMAGE)
    preset: Mapping[str, Any] = field(default_factory=dict)
    memory_mb: int = 2048  # with the preset's replay buffer full
    cpus: int = 1  # how many it can keep busy
    needs_bounds: bool = False  # of actions: it squashes its own and stretches them to the bounds


_ATARI_REPLAY_MB = 12_288  # a million frames of 84x84, and what trains on them


_ATARI_DQN = {
    "env_id": "BreakoutNoFrameskip-v4",
    "total_timesteps": 10_000_000,
    "buffer_size": 1_000_000,
    "batch_size": 32,
    "end_e": 0.01,
    "exploration_fraction": 0.10,
    "learning_starts": 80_000,
    "train_frequency": 4,
}
_PPO_CONTINUOUS = {
    "env_id": "HalfCheetah-v4",
    "total_timesteps": 1_000_000,
    "learning_rate": 3e-4,
    "num_envs": 1,
    "num_steps": 2048,
    "num_minibatches": 32,
    "update_epochs": 10,
    "ent_coef": 0.0,
    "normalize_observations": True,
    "normalize_rewards": True,
}
_PPO_ATARI = {
    "env_id": "BreakoutNoFrameskip-v4",
    "total_timesteps": 10_000_000,
    "num_envs": 8,
    "clip_coef": 0.1,
}

_ALGORITHMS = (
    Algorithm("ppo", f"{_MODULES}.ppo", "Proximal policy optimisation", (DISCRETE,)),
    Algorithm(
        "ppo_continuous_action",
        f"{_MODULES}.ppo",
        "PPO for continuous actions, observations and rewards normalised",
        (CONTINUOUS,),
        (VECTOR,),
        _PPO_CONTINUOUS,
    ),
    Algorithm(
        "ppo_atari",
        f"{_MODULES}.ppo",
        "PPO from pixels",
        (DISCRETE,),
        (IMAGE,),
        _PPO_ATARI,
        cpus=2,
    ),
    Algorithm(
        "ppo_atari_lstm",
        f"{_MODULES}.ppo_lstm",
        "PPO from single frames with an LSTM as memory",
        (DISCRETE,),
        (IMAGE,),
        _PPO_ATARI,
        cpus=2,
    ),
    Algorithm(
        "rpo_continuous_action",
        f"{_MODULES}.ppo",
        "PPO whose policy mean is perturbed during updates, for robust exploration",
        (CONTINUOUS,),
        (VECTOR,),
        {**_PPO_CONTINUOUS, "total_timesteps": 8_000_000, "rpo_alpha": 0.5},
    ),
    Algorithm(
        "pqn",
        f"{_MODULES}.pqn",
        "Parallel Q-learning without replay buffer and target network",
        (DISCRETE,),
    ),
    Algorithm("dqn", f"{_MODULES}.dqn", "Deep Q-network", (DISCRETE,)),
    Algorithm(
        "dqn_atari",
        f"{_MODULES}.dqn",
        "Deep Q-network from pixels",
        (DISCRETE,),
        (IMAGE,),
        {**_ATARI_DQN, "learning_rate": 1e-4, "target_network_frequency": 1000},
        _ATARI_REPLAY_MB,
        cpus=2,
    ),
    Algorithm("c51", f"{_MODULES}.c51", "Categorical deep Q-network", (DISCRETE,)),
    Algorithm(
        "c51_atari",
        f"{_MODULES}.c51",
        "Categorical deep Q-network from pixels",
        (DISCRETE,),
        (IMAGE,),
        {
            **_ATARI_DQN,
            "learning_rate": 2.5e-4,
            "target_network_frequency": 10_000,
            "n_atoms": 51,
            "v_min": -10.0,
            "v_max": 10.0,
        },
        _ATARI_REPLAY_MB,
        cpus=2,
    ),
    Algorithm(
        "ddpg_continuous_action",
        f"{_MODULES}.ddpg",
        "Deep deterministic policy gradient",
        (CONTINUOUS,),
        (VECTOR,),
        cpus=2,
        needs_bounds=True,
    ),
    Algorithm(
        "td3_continuous_action",
        f"{_MODULES}.td3",
        "Twin delayed DDPG",
        (CONTINUOUS,),
        (VECTOR,),
        cpus=2,
        needs_bounds=True,
    ),
    Algorithm(
        "sac_continuous_action",
        f"{_MODULES}.sac",
        "Soft actor-critic",
        (CONTINUOUS,),
        (VECTOR,),
        cpus=2,
        needs_bounds=True,
    ),
    Algorithm(
        "sac_atari",
        f"{_MODULES}.sac_discrete",
        "Soft actor-critic for discrete actions, from pixels",
        (DISCRETE,),
        (IMAGE,),
        memory_mb=_ATARI_REPLAY_MB,
        cpus=2,
    ),
)

DEFAULT_ALGO_REGISTRY: Mapping[str, Algorithm] = {item.name: item for item in _ALGORITHMS}

# Known names whose implementation is still to come.
PLANNED_ALGORITHMS = (
    "ppo_atari_multigpu",
    "ppo_atari_envpool",
    "ppo_atari_envpool_xla_jax",
    "ppo_atari_envpool_xla_jax_scan",
    "ppo_procgen",
    "ppo_rnd_envpool",
    "ppo_pettingzoo_ma_atari",
    "ppg_procgen",
    "pqn_atari_envpool",
    "pqn_atari_envpool_lstm",
    "dqn_jax",
    "dqn_atari_jax",
    "rainbow_atari",
    "qdagger_dqn_atari_impalacnn",
    "qdagger_dqn_atari_jax_impalacnn",
    "c51_jax",
    "c51_atari_jax",
    "ddpg_continuous_action_jax",
    "td3_continuous_action_jax",
)


def find_algorithm(name: str) -> Algorithm:
    """Raises ConfigError with the nearest names when there is no such algorithm."""
    found = DEFAULT_ALGO_REGISTRY.get(name)
    if found is not None:
        return found
    available = ", ".join(DEFAULT_ALGO_REGISTRY)
    if name in PLANNED_ALGORITHMS:
        raise ConfigError(
            f"'algo': {name} is not available yet", hint=f"available: {available}", field="algo"
        )
    close = difflib.get_close_matches(name, [*DEFAULT_ALGO_REGISTRY, *PLANNED_ALGORITHMS], n=3)
    guess = f"did you mean {' or '.join(close)}? " if close else ""
    raise ConfigError(
        f"'algo': there is no algorithm {name[:80]!r}",
        hint=f"{guess}available: {available}",
        field="algo",
    )
