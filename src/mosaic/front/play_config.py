"""The TrainRunConfig of a run in which a person or a policy plays, and what it is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.front.policy_config import MEMORY_MB
from mosaic.front.training_config import run_document

if TYPE_CHECKING:
    from mosaic.contracts.run_record import RunRecord
    from mosaic.wire.answers import WorkerInfo

HUMAN, POLICY = "human", "policy"
MIN_SPEED, MAX_SPEED = 0.25, 8.0
_MEMORY_ALONE_MB = 1024  # without a policy there is no network


def play_document(
    worker: str,
    env_id: str,
    policy_path: Path | str | None = None,
    seed: int = 1,
    *,
    play: Mapping[str, Any] | None = None,
    algo: str = "",
    parent_run: str = "",
    env_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`play`: how it begins, see `play_fields`."""
    fields = dict(play_fields(HUMAN) if play is None else play)
    extras: dict[str, Any] = {"mode": "interactive", "frames": "none", "play": fields}
    if policy_path is not None:
        extras["policy_path"] = str(policy_path)
    if env_kwargs:
        extras["env_kwargs"] = dict(env_kwargs)
    settings: dict[str, Any] = {"env_id": env_id, "seed": seed, "extras": extras}
    if algo:
        settings["algo"] = algo
    metadata: dict[str, Any] = {"purpose": "play"}
    if parent_run:
        metadata["lineage"] = {"parent_run": parent_run}
    return run_document(
        worker,
        f"play-{env_id}",
        settings,
        cpus=1,
        expected_memory_mb=_MEMORY_ALONE_MB if policy_path is None else MEMORY_MB,
        metadata=metadata,
    )


def play_fields(
    controller: str,
    *,
    fps: float | None = None,
    is_turn_based: bool = False,
    idle: Sequence[Any] = (),
    is_restarting: bool = False,
    idle_limit_s: float = 0.0,
) -> dict[str, Any]:
    """How such a run is to be played. `idle`: the actions that are taken in turn while nobody does
    anything. Without `fps` it is as fast as in real life. After `idle_limit_s` without a command
    it ends by itself; 0: never."""
    fields: dict[str, Any] = {
        "controller": controller,
        "turn_based": is_turn_based,
        "idle": list(idle),
        "auto_restart": is_restarting,
        "idle_limit_s": idle_limit_s,
    }
    if fps is not None:
        fields["fps"] = fps
    return fields


def is_played(record: RunRecord) -> bool:
    """Whether the run is such a session; the record has to have its config."""
    metadata = record.config.get("metadata")
    return isinstance(metadata, dict) and metadata.get("purpose") == "play"


def players(workers: Iterable[WorkerInfo]) -> list[WorkerInfo]:
    """Workers in whose environments a person can play; those that can start come first."""
    able = [
        worker
        for worker in workers
        if worker.capabilities is not None and worker.capabilities.supports_play
    ]
    return sorted(able, key=lambda worker: not worker.is_ready)
