"""What a run of this worker needs installed, told by its config. Imports nothing heavy."""

from __future__ import annotations

from mosaic.contracts.bundles import BundleRule

WORKER, MINIGRID = "spade_bdi_worker", "minigrid"
_GRID_WORLDS = ("MiniGrid-*", "BabyAI-*")
_ENVIRONMENT_FIELDS = ("env_id", "extras.env_id", "extras.algo_params.env_id")


def bundle_rules() -> tuple[BundleRule, ...]:
    return (
        BundleRule(WORKER),
        *(BundleRule(MINIGRID, field, _GRID_WORLDS) for field in _ENVIRONMENT_FIELDS),
    )
