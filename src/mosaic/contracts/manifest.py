"""`analytics.json` (what a run left behind) and RuntimeSummary (what `--emit-summary` prints)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.schema_check import violations
from mosaic.errors import CorruptStoreError
from mosaic.foreign.files import parse_plain_json, read_regular

MANIFEST_VERSION = 2
STATUSES = ("", "running", "completed", "cancelled", "failed")
# Lists tens of thousands of checkpoints; whatever is larger was not written by a worker.
MAX_MANIFEST_BYTES = 8_000_000
_LONGEST_PATH = 4096


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
class AgentsArtifact:
    """Of agents that deliberate: see contracts/agents.py. Empty: there is no such file."""

    trace_path: str = ""
    # What the trace held before it became too large.
    older_trace_path: str = ""
    values_path: str = ""


@dataclass(frozen=True)
class CheckpointEntry:
    path: str
    step: int
    sha256: str = ""
    metric: float | None = None
    is_best: bool = False
    is_final: bool = False


@dataclass(frozen=True)
class DependencyBundle:
    """What the worker ran on: its distribution, its interpreter and its main packages."""

    distribution: str = ""
    version: str = ""
    python: str = ""
    packages: dict[str, str] = field(default_factory=dict)  # name and version
    # Of the venv it ran in; empty where it ran beside MOSAIC itself, and in older manifests.
    name: str = ""
    lock_hash: str = ""
    accelerator: str = ""
    interpreter: str = ""  # its path


@dataclass(frozen=True)
class AnalyticsManifest:
    run_id: str
    worker_type: str
    manifest_version: int = MANIFEST_VERSION
    # As the worker itself last said; one that was killed leaves "running" behind.
    status: str = field(default="", metadata={"schema": {"enum": list(STATUSES)}})
    attempt: int = field(default=1, metadata={"schema": {"minimum": 1}})
    # Seconds since the epoch; 0 where an older version did not say.
    created_at: float = 0.0
    updated_at: float = 0.0
    tensorboard: TensorBoardArtifact = TensorBoardArtifact()
    wandb: WandbArtifact = WandbArtifact()
    optuna_db_path: str = ""
    checkpoints: tuple[CheckpointEntry, ...] = ()
    videos: tuple[str, ...] = ()
    # The file with the figures of an evaluation, relative to the run's directory.
    evaluation_path: str = ""
    agents: AgentsArtifact = AgentsArtifact()
    bundle: DependencyBundle = DependencyBundle()
    # Venvs of programs that the worker ran in others than its own: name, lock, builds, Python and
    # interpreter; nobody looked at the packages in them. Older manifests have none.
    other_bundles: tuple[DependencyBundle, ...] = ()
    notes: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> AnalyticsManifest:
        """Raises CorruptStoreError, which names the field, for anything but a manifest."""
        values = _checked(data)
        values["tensorboard"] = TensorBoardArtifact(**values.get("tensorboard", {}))
        values["wandb"] = WandbArtifact(**values.get("wandb", {}))
        values["agents"] = AgentsArtifact(**values.get("agents", {}))
        values["bundle"] = DependencyBundle(**values.get("bundle", {}))
        values["other_bundles"] = tuple(
            DependencyBundle(**entry) for entry in values.get("other_bundles", ())
        )
        values["checkpoints"] = tuple(
            CheckpointEntry(**entry) for entry in values.get("checkpoints", ())
        )
        values["videos"] = tuple(values.get("videos", ()))
        return cls(**values)


def read_manifest(path: Path) -> AnalyticsManifest | None:
    """The manifest in that file, None when there is no file; CorruptStoreError when it is damaged.

    Files come from workers and out of archives, so nothing in them is taken on trust.
    """
    try:
        text = read_regular(path, MAX_MANIFEST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(f"cannot be read: {error.strerror}", path=path) from error
    try:
        return AnalyticsManifest.from_dict(parse_plain_json(text))
    except ValueError as error:
        raise _damaged(f"is no plain JSON: {error}", path=path) from error
    except CorruptStoreError as error:
        where = error.details.get("field", "")
        raise _damaged(error.details["problem"], where, path) from error


def artifact_path(directory: Path, named: str, field: str, *, may_leave: bool) -> Path:
    """The place that `field` of the manifest in `directory` names, with no link on the way there.

    A script may write wherever it likes, and its run says where. A run that came out of an archive
    has its folder and nothing else: unless it `may_leave` it, what leads out raises
    CorruptStoreError.
    """
    manifest = directory / "analytics.json"
    if len(named) > _LONGEST_PATH:
        raise _damaged(f"{named[:80]!r}… is longer than a path can be", field, manifest)
    try:
        root = directory.resolve()
        place = (root / named).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise _damaged(f"{named[:200]!r} is no path: {error}", field, manifest) from error
    if not may_leave and not place.is_relative_to(root):
        raise _damaged(f"{named[:200]!r} leads out of the run's folder", field, manifest)
    return place


def _checked(data: Any) -> dict[str, Any]:
    # Imported late: a worker's first report writes a manifest and has none to read yet.
    from mosaic.contracts.run_config import load_schema

    if not isinstance(data, dict):
        raise _damaged("is not a JSON object")
    values = _upgraded(data)
    version = values.get("manifest_version", MANIFEST_VERSION)
    if isinstance(version, int) and version > MANIFEST_VERSION:
        raise _damaged(
            f"{version} is newer than this MOSAIC, which knows {MANIFEST_VERSION}",
            "manifest_version",
        )
    for violation in violations(values, load_schema("analytics")):
        raise _damaged(violation.message, violation.path)
    return values


def _upgraded(data: dict[str, Any]) -> dict[str, Any]:
    """A document of version 1 in the shape of today."""
    values = dict(data)
    if values.get("manifest_version", 1) != 1:
        return values
    values["manifest_version"] = MANIFEST_VERSION
    if isinstance(values.get("bundle"), str):
        values["bundle"] = {"distribution": values["bundle"]}
    metadata = values.get("metadata")
    if isinstance(metadata, dict):
        values["metadata"] = dict(metadata)
        for name in ("status", "attempt"):
            if name in metadata:
                values.setdefault(name, values["metadata"].pop(name))
    return values


def _damaged(problem: str, where: str = "", path: Path | None = None) -> CorruptStoreError:
    subject = "analytics.json" if path is None else str(path)
    at = f" '{where}':" if where else ""
    return CorruptStoreError(
        f"{subject}:{at} {problem}" if where else f"{subject} {problem}",
        hint="the journal and the store of the run are not touched by this",
        field=where,
        problem=problem,
        **({} if path is None else {"path": str(path)}),
    )


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
