"""BDI agents over a real XMPP server: plans decide what to pursue, Q-tables decide the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic.contracts.capabilities import WorkerCapabilities

__version__ = "0.1.0"

_INSTALL = "mosaic bundles install spade_bdi_worker"
_NEEDED = ("spade", "spade_bdi", "agentspeak", "pyjabber", "uvloop", "gymnasium", "numpy")


def get_worker_metadata() -> WorkerCapabilities:
    """Entry point in the group `mosaic.workers`; must not import numpy, gymnasium or SPADE."""
    # Imported here: the catalogue of algorithms, below this package, has milliseconds only.
    from mosaic.contracts.agents import AgentsSupport
    from mosaic.contracts.capabilities import (
        Lane,
        ReadinessCheck,
        WorkerCapabilities,
        WorkerMetadata,
    )
    from spade_bdi_rl_worker.bundle_rules import bundle_rules
    from spade_bdi_rl_worker.config import worker_config_schema

    return WorkerCapabilities(
        worker_type="bdi",
        supported_paradigms=("sequential",),
        env_families=("gymnasium", "toy_text", "classic_control", "minigrid"),
        action_spaces=("discrete",),
        observation_spaces=("discrete", "vector", "image"),
        max_agents=1,
        supports_checkpointing=True,
        supports_policy_load=True,
        supports_resume=True,
        supports_pause_resume=True,
        estimated_memory_mb=512,
        lane=Lane.TELEMETRY,
        replay_maker="spade_bdi_rl_worker.replay:make_environment",
        checkpoint_check="spade_bdi_rl_worker.checkpoint_check:check_checkpoint",
        checkpoint_suffixes=(".qtable",),
        agents=AgentsSupport(
            goals=("explore", "exploit", "subgoal", "give_up"),
            cell_goal="subgoal",
            plan_roles=("learner", "coach", "observer"),
            plan_checker="spade_bdi_rl_worker.agents.plan_check",
        ),
        readiness_checks=tuple(
            ReadinessCheck(name=package, check=f"import:{package}", fix=_INSTALL)
            for package in _NEEDED
        ),
        bundle_rules=bundle_rules(),
        metadata=WorkerMetadata(
            name="Spade BDI Worker",
            version=__version__,
            description="Agents with beliefs, desires and intentions that plan in AgentSpeak, "
            "talk over XMPP, on a server of the run's own or on yours, and learn Q-tables.",
            license="MIT",
            homepage="https://github.com/javipalanca/spade_bdi",
            upstream_library="spade_bdi",
        ),
        config_schema=worker_config_schema(),
    )
