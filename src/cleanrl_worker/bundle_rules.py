"""What a run of this worker needs installed, told by its config. Imports nothing heavy."""

from __future__ import annotations

from cleanrl_worker.environments.families import (
    ATARI,
    BABYAI,
    BOX2D,
    DM_CONTROL,
    MINIGRID,
    MUJOCO,
    id_patterns,
)
from mosaic.contracts.bundles import BundleRule

WORKER, UPSTREAM = "cleanrl_worker", "upstream_cleanrl"
# Families that are not in the worker's own bundle, and the add-ons that hold them.
_ADD_ONS = {
    BOX2D: "box2d",
    MUJOCO: "mujoco",
    ATARI: "atari",
    MINIGRID: "minigrid",
    BABYAI: "minigrid",
    DM_CONTROL: "dm_control",
}
_UPSTREAM_ADD_ONS = {MUJOCO: "upstream_mujoco", ATARI: "upstream_atari"}
_IS_UPSTREAM = {"extras.source": "upstream"}
_PYTHON_FIELD = "extras.env_python"
_WANTS_WANDB = ("extras.track_wandb", "extras.track", "extras.algo_params.track")
_WANTS_VIDEO = (
    *("extras.eval_capture_video", "extras.capture_video", "extras.algo_params.capture_video"),
)


def bundle_rules() -> tuple[BundleRule, ...]:
    """Upstream, it is the script that has the environments; the worker only watches it."""
    return (
        BundleRule(WORKER),
        *(
            BundleRule(bundle, "env_id", id_patterns(family), unless=_IS_UPSTREAM)
            for family, bundle in _ADD_ONS.items()
        ),
        *(BundleRule("wandb", field, ("true",), unless=_IS_UPSTREAM) for field in _WANTS_WANDB),
        *(BundleRule("video", field, ("true",), unless=_IS_UPSTREAM) for field in _WANTS_VIDEO),
        BundleRule(UPSTREAM, python_field=_PYTHON_FIELD, where=_IS_UPSTREAM, is_optional=True),
        *(
            BundleRule(
                bundle,
                "env_id",
                id_patterns(family),
                python_field=_PYTHON_FIELD,
                where=_IS_UPSTREAM,
                is_optional=True,
            )
            for family, bundle in _UPSTREAM_ADD_ONS.items()
        ),
    )
