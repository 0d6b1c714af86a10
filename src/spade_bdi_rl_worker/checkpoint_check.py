"""Whether a training can begin with a checkpoint, before anything is started. Light to import.

It goes by what the checkpoint says of itself; what only the environment can tell, such as the size
of another map, the worker finds out when it starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.learner import TrainRequest, read_request
from mosaic.errors import ConfigError
from spade_bdi_rl_worker.checkpoints import Trained, read_trained

FIELD = "extras.warm_start_path"
# Environments of one family have the same actions, and states that depend on their arguments only.
_FAMILIES = ("FrozenLake", "CliffWalking", "Taxi", "Blackjack", "MiniGrid", "BabyAI")


def check_checkpoint(config: Mapping[str, Any]) -> None:
    """Raises ConfigError, or CheckpointError, naming what does not fit."""
    request = read_request(config)
    if not isinstance(request, TrainRequest) or not request.warm_start or request.algo is None:
        return
    trained = read_trained(Path(request.warm_start))
    refuse_other_family(trained, request.env_id or str(request.parameters.get("env_id") or ""))


def refuse_other_family(trained: Trained, env_id: str) -> None:
    """Tables may be those of another algorithm: their values mean the same."""
    if env_id and _family(trained.env_id) != _family(env_id):
        raise ConfigError(
            f"The checkpoint was trained on {trained.env_id}, whose states are not those of "
            f"{env_id}",
            hint=f"train on {trained.env_id}, begin with another checkpoint, or with none",
            field=FIELD,
        )


def _family(env_id: str) -> str:
    name = env_id.rpartition("/")[2].rpartition("-v")[0] or env_id
    return next((family for family in _FAMILIES if name.startswith(family)), name)
