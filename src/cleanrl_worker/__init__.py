"""Fast single-agent learners under CleanRL's names, with checkpoints that resume exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic.contracts.capabilities import WorkerCapabilities

__version__ = "0.1.0"

_INSTALL = 'pip install "mosaic-rl[cleanrl]"'


def get_worker_metadata() -> WorkerCapabilities:
    """Entry point in the group `mosaic.workers`; must not import torch or gymnasium."""
    # Imported here: the catalogue of algorithms, below this package, has milliseconds only.
    from cleanrl_worker.bundle_rules import bundle_rules
    from cleanrl_worker.config import worker_config_schema
    from mosaic.contracts.capabilities import (
        Lane,
        ReadinessCheck,
        WorkerCapabilities,
        WorkerMetadata,
    )

    return WorkerCapabilities(
        worker_type="cleanrl",
        supported_paradigms=("sequential",),
        env_families=(
            "gymnasium",
            "atari",
            "procgen",
            "mujoco",
            "dm_control",
            "minigrid",
            "babyai",
        ),
        action_spaces=("discrete", "continuous"),
        observation_spaces=("vector", "image"),
        max_agents=1,
        supports_checkpointing=True,
        supports_policy_load=True,
        supports_resume=True,
        supports_pause_resume=True,
        supports_play=True,
        requires_gpu=False,
        estimated_memory_mb=512,
        lane=Lane.ANALYTICS,
        replay_maker="cleanrl_worker.replay:make_environment",
        checkpoint_check="cleanrl_worker.checkpoint_check:check_checkpoint",
        program_fields=("extras.upstream_path", "extras.env_python"),
        readiness_checks=tuple(
            ReadinessCheck(name=package, check=f"import:{package}", fix=_INSTALL)
            for package in ("torch", "gymnasium", "tyro", "safetensors")
        ),
        bundle_rules=bundle_rules(),
        metadata=WorkerMetadata(
            name="CleanRL Worker",
            version=__version__,
            description="PPO, DQN, C51, SAC, TD3, DDPG and variants for one agent.",
            license="MIT",
            homepage="https://github.com/vwxyzjn/cleanrl",
            upstream_library="cleanrl",
        ),
        config_schema=worker_config_schema(),
    )
