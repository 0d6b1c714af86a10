"""`analytics.json` (what a run left behind) and RuntimeSummary (what `--emit-summary` prints)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

MANIFEST_VERSION = 1


@dataclass(frozen=True)
class TensorBoardArtifact:
    enabled: bool = False
    # Relative to the run's directory, so that an archived run stays readable elsewhere.
    relative_path: str = "tensorboard"


@dataclass(frozen=True)
class WandbArtifact:
    enabled: bool = False
    mode: str = "offline"
    project: str = ""
    entity: str = ""
    run_id: str = ""
    url: str = ""
    relative_path: str = "wandb"


@dataclass(frozen=True)
class CheckpointEntry:
    path: str
    step: int
    sha256: str = ""
    metric: float | None = None
    is_best: bool = False
    is_final: bool = False


@dataclass(frozen=True)
class AnalyticsManifest:
    run_id: str
    worker_type: str
    manifest_version: int = MANIFEST_VERSION
    tensorboard: TensorBoardArtifact = TensorBoardArtifact()
    wandb: WandbArtifact = WandbArtifact()
    optuna_db_path: str = ""
    checkpoints: tuple[CheckpointEntry, ...] = ()
    videos: tuple[str, ...] = ()
    bundle: str = ""
    notes: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AnalyticsManifest:
        values = dict(data)
        values["tensorboard"] = TensorBoardArtifact(**values.get("tensorboard", {}))
        values["wandb"] = WandbArtifact(**values.get("wandb", {}))
        values["checkpoints"] = tuple(
            CheckpointEntry(**entry) for entry in values.get("checkpoints", ())
        )
        values["videos"] = tuple(values.get("videos", ()))
        return cls(**values)


@dataclass(frozen=True)
class RuntimeSummary:
    """Printed as one JSON object by `--emit-summary`: what would run, or what did."""

    run_id: str
    worker_type: str
    status: str  # "dry-run", "completed", "cancelled" or "failed"
    command: tuple[str, ...]
    config: dict[str, Any]
    steps: int = 0
    episodes: int = 0
    duration_s: float = 0.0
    error: str = ""
    # What the worker itself found out, such as the flags of its algorithm.
    extras: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
