"""What a worker says about itself. Everything the rest of MOSAIC knows of a worker is in here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from mosaic.contracts.agents import AgentsSupport
from mosaic.contracts.bundles import BundleRule
from mosaic.errors import ConfigError

# Packages announce a function under this group that returns a worker's WorkerCapabilities.
WORKERS_GROUP = "mosaic.workers"


class Lane(StrEnum):
    TELEMETRY = "telemetry"  # streams every step
    ANALYTICS = "analytics"  # headline scalars live, the rest in files
    HYBRID = "hybrid"


@dataclass(frozen=True)
class WorkerMetadata:
    """Who made it, for people."""

    name: str
    version: str = "0"
    description: str = ""
    license: str = ""
    author: str = ""
    homepage: str = ""
    upstream_library: str = ""
    upstream_version: str = ""


@dataclass(frozen=True)
class ReadinessCheck:
    """Something the worker needs before it can run, checked in its own environment."""

    name: str
    # "import:<module>", "command:<program>" or "env:<VARIABLE>"
    check: str
    fix: str
    required: bool = True

    @property
    def is_import(self) -> bool:
        return self.check.startswith("import:")


@dataclass(frozen=True)
class WorkerCapabilities:
    """Returned by a worker's `get_worker_metadata()`; must not need any heavy import."""

    worker_type: str
    supported_paradigms: tuple[str, ...] = ("sequential",)
    env_families: tuple[str, ...] = ()
    action_spaces: tuple[str, ...] = ()
    observation_spaces: tuple[str, ...] = ()
    max_agents: int = 1
    supports_self_play: bool = False
    supports_population: bool = False
    supports_checkpointing: bool = False
    supports_policy_load: bool = False
    supports_resume: bool = False
    supports_pause_resume: bool = False
    # A person can play in its environments: front/play_config.py says how it is asked for.
    supports_play: bool = False
    requires_gpu: bool = False
    gpu_memory_mb: int = 0
    cpu_cores: int = 1
    estimated_memory_mb: int = 512
    lane: Lane = Lane.TELEMETRY
    # True for a worker that prints its events on stdout; the run host then writes the journal.
    stdout_events: bool = False
    # "package.module:function" that makes its environments again; see contracts/replay.py.
    replay_maker: str = ""
    # "package.module:function" that takes the config of a warm start and raises a MosaicError where
    # the checkpoint does not fit it. Called before such a run is accepted, so it must be light.
    checkpoint_check: str = ""
    # How the files end that it can load a policy from, such as ".model"; empty: it does not say,
    # and is asked about files that end like nobody's.
    checkpoint_suffixes: tuple[str, ...] = ()
    # Its work is a command of the user's: forms ask for a script, not for an algorithm.
    runs_commands: bool = False
    # Fields of its config, as dotted paths, that name a program or a folder with programs: a run
    # that sets one of them starts somebody else's code.
    program_fields: tuple[str, ...] = ()
    # Its agents deliberate, and people may talk to them; None: it has no such agents.
    agents: AgentsSupport | None = None
    readiness_checks: tuple[ReadinessCheck, ...] = ()
    # What its runs need, told by their config. The first rule without a field and without a
    # python_field names what it needs itself. None: it needs nothing, or sees to it by itself.
    bundle_rules: tuple[BundleRule, ...] = ()
    metadata: WorkerMetadata = field(default_factory=lambda: WorkerMetadata(name="worker"))
    # JSON Schema of the worker's config, for forms, `--set` and validation.
    config_schema: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["lane"] = self.lane.value
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WorkerCapabilities:
        """Unknown fields (of a newer worker) are ignored; unknown means hidden, never a crash."""
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        try:
            for name in (
                "supported_paradigms",
                "env_families",
                "action_spaces",
                "observation_spaces",
                "checkpoint_suffixes",
                "program_fields",
            ):
                if name in values:
                    values[name] = tuple(values[name])
            values["lane"] = Lane(values.get("lane", Lane.TELEMETRY))
            values["readiness_checks"] = tuple(
                ReadinessCheck(**check) for check in values.get("readiness_checks", ())
            )
            values["bundle_rules"] = tuple(
                map(BundleRule.from_dict, values.get("bundle_rules", ()))
            )
            if values.get("agents") is not None:
                values["agents"] = AgentsSupport.from_dict(values["agents"])
            if "metadata" in values:
                names = {item.name for item in fields(WorkerMetadata)}
                values["metadata"] = WorkerMetadata(
                    **{key: text for key, text in values["metadata"].items() if key in names}
                )
            return cls(**values)
        except (TypeError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"Invalid WorkerCapabilities: {error}", field="capabilities"
            ) from error
