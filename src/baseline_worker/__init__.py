"""Random and scripted policies in any Gymnasium environment: smoke tests and lower bounds."""

from baseline_worker.config import BaselineConfig
from mosaic.contracts.bundles import BundleRule
from mosaic.worker import (
    Lane,
    ReadinessCheck,
    WorkerCapabilities,
    WorkerMetadata,
    config_schema,
)

__version__ = "0.1.0"


def get_worker_metadata() -> WorkerCapabilities:
    """Entry point in the group `mosaic.workers`; must not import gymnasium."""
    return WorkerCapabilities(
        worker_type="baseline",
        supported_paradigms=("sequential",),
        env_families=("gymnasium", "classic_control", "toy_text", "box2d", "atari", "minigrid"),
        action_spaces=("discrete", "continuous", "multi_discrete", "multi_binary"),
        observation_spaces=("vector", "image", "discrete", "dict", "tuple", "text"),
        supports_pause_resume=True,
        estimated_memory_mb=256,
        lane=Lane.TELEMETRY,
        replay_maker="baseline_worker.replay:make_environment",
        readiness_checks=(
            ReadinessCheck(
                name="gymnasium",
                check="import:gymnasium",
                fix='pip install "mosaic-rl[baseline]"',
            ),
        ),
        bundle_rules=(BundleRule("baseline_worker"),),
        metadata=WorkerMetadata(
            name="Baseline policies",
            version=__version__,
            description="Random, idle and scripted policies in any Gymnasium environment.",
            license="MIT",
            upstream_library="gymnasium",
        ),
        config_schema=config_schema(BaselineConfig),
    )
