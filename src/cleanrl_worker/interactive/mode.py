"""The worker's mode `interactive`: from the config to a player that is served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.evaluation.mode import find_policy_source
from mosaic.worker import Run

if TYPE_CHECKING:
    from cleanrl_worker.evaluation.detection import PolicySource


def describe_play(config: CleanRLWorkerConfig) -> dict[str, Any]:
    source = _source(config)
    return {
        "mode": config.mode,
        "algo": config.algo if source is None else source.algo,
        "env_id": config.env_id if source is None else source.env_id,
        "policy_path": None if source is None else str(source.path),
        "frames": config.extra("frames"),
    }


def play(run: Run[CleanRLWorkerConfig]) -> None:
    facts = {"run_id": run.run_id, **describe_play(run.config)}
    env_id = facts["env_id"]
    # Imported here: checking a config needs no gymnasium.
    from cleanrl_worker.interactive.opening import open_play
    from cleanrl_worker.interactive.serving import serve

    source = _source(run.config)
    serve(run, lambda resources: open_play(run, source, env_id, resources), facts)


def _source(config: CleanRLWorkerConfig) -> PolicySource | None:
    return find_policy_source(config) if config.extras.get("policy_path") else None
