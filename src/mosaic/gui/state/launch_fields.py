"""Fields that several forms share: the run itself, tracking, recording and frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mosaic.contracts.run_config import load_schema
from mosaic.fastlane.layout import DEFAULT_SLOTS
from mosaic.fastlane.pacing import DEFAULT_BUDGET
from mosaic.gui.state.form_fields import Choice, Field, Kind, Shown, field_of
from mosaic.wire.answers import Health, WorkerInfo

HYPERPARAMETERS, RECORDING, TRACKING = "Hyperparameters", "Recording", "Tracking"
FRAMES, RUN = "Frames", "Run"
WANDB_KEY = "WANDB_API_KEY"
BUDGET = "fastlane_budget"
WARM_START = "warm_start_path"
NO_GPU = "This machine has no GPU"
# Of an algorithm's parameters, those that belong with others than the rest.
_RECORDING = (
    *("save_model", "checkpoint_interval", "keep_checkpoints"),
    *("capture_video", "record_episodes", "recording_limit_mb"),
)
_WANDB = ("wandb_project_name", "wandb_entity", "wandb_run_name")
_FRAME_MODES = (
    Choice("grid", "grid", "several environments side by side"),
    Choice("single", "single", "one environment"),
    Choice("off", "off", "no live frames"),
)


def gpu_field(health: Health | None, section: str = RUN) -> Field:
    is_missing = health is not None and health.gpus_total == 0
    return Field(
        "use_gpu",
        "Use a GPU",
        Kind.BOOLEAN,
        default=False,
        help=NO_GPU if is_missing else "Waits until one is free",
        section=section,
        disabled_reason=NO_GPU if is_missing else "",
    )


def name_field() -> Field:
    return Field(
        "run_name",
        "Run name",
        Kind.TEXT,
        section=RUN,
        placeholder="made from the settings",
        schema={"type": "string", "maxLength": 100},
    )


def id_fields() -> list[Field]:
    known = _document_schema("metadata", "worker")
    return [
        replace(
            field_of(name, known[name], section=RUN), title=title, help="", placeholder=placeholder
        )
        for name, title, placeholder in (
            ("agent_id", "Agent id", "agent"),
            ("worker_id", "Worker id", "the worker's name"),
        )
    ]


def resource_fields(health: Health | None) -> list[Field]:
    known = _document_schema("resources")
    cpus = {**known["cpus"], "maximum": health.cpus_total} if health else known["cpus"]
    memory = known["memory_mb"]
    if health:
        memory = {**memory, "maximum": health.memory_mb_total}
    return [
        replace(field_of("cpus", cpus, section=RUN), title="CPUs", placeholder="auto"),
        replace(
            field_of("memory_mb", memory, section=RUN),
            title="Memory limit",
            unit="MB",
            placeholder="none",
        ),
    ]


def queue_fields() -> list[Field]:
    document = load_schema("train_run_config")["properties"]
    attempts = document["retry"]["properties"]["max_attempts"]["maximum"]
    retries = {
        "type": "integer",
        "description": "how often it goes on after a crash",
        "minimum": 0,
        "maximum": attempts - 1,
        "default": 0,
    }
    return [
        field_of("retries", retries, section=RUN),
        field_of("priority", document["priority"], section=RUN),
    ]


def recording_fields(parameters: Mapping[str, Mapping[str, Any]]) -> list[Field]:
    """Those of an algorithm that has them."""
    found = (
        field_of(name, parameters[name], section=RECORDING)
        for name in _RECORDING
        if name in parameters
    )
    return [
        replace(item, title=item.title.removesuffix(" MB"), unit="MB")
        if item.name.endswith("_mb")
        else item
        for item in found
    ]


def tracking_fields(
    parameters: Mapping[str, Mapping[str, Any]], extras: Mapping[str, Mapping[str, Any]]
) -> list[Field]:
    """As far as the algorithm and the worker can do it."""
    fields = []
    if "tensorboard_dir" in parameters:
        fields.append(
            Field(
                "tensorboard",
                "TensorBoard folder",
                Kind.BOOLEAN,
                default=False,
                help="Event files go into tensorboard/ of the run's folder",
                section=TRACKING,
            )
        )
    if "track_wandb" in extras:
        tracked = Shown("track_wandb", True)
        fields.append(
            Field(
                "track_wandb",
                "Track with W&B",
                Kind.BOOLEAN,
                default=False,
                help="Log to Weights & Biases too",
                section=TRACKING,
            )
        )
        for name in _WANDB:
            if name in parameters:
                found = field_of(name, parameters[name], section=TRACKING)
                title = found.title.removesuffix(" name") if "project" in name else found.title
                fields.append(replace(found, title=title, shown=tracked))
        if "wandb_email" in extras:
            found = field_of("wandb_email", extras["wandb_email"], section=TRACKING)
            fields.append(replace(found, title="W&B email", shown=tracked))
        fields.append(
            Field(
                "wandb_api_key",
                "W&B API key",
                Kind.SECRET,
                help="Given to this run only, stored nowhere",
                section=TRACKING,
                shown=tracked,
                placeholder="as you are logged in",
            )
        )
    if "notes" in extras:
        found = field_of("notes", extras["notes"], section=TRACKING)
        help_text = "Your own words, kept with the run"
        fields.append(replace(found, kind=Kind.LONG_TEXT, help=help_text, placeholder=""))
    return fields


def frame_fields(schemas: Mapping[str, Mapping[str, Any]], mode: str, limit: str) -> list[Field]:
    """Of the live view; `mode` and `limit` are what the worker calls them."""
    fields = []
    if mode in schemas:
        fields.append(
            Field(
                mode,
                "Live frames",
                Kind.CHOICE,
                default="grid",
                help="Which environments are seen while it runs",
                schema=schemas[mode],
                choices=_FRAME_MODES,
                section=FRAMES,
            )
        )
    for name, title, when, placeholder in (
        ("fastlane_slot", "Environment number", "single", "0"),
        (limit, "Most at once", "grid", str(DEFAULT_SLOTS)),
    ):
        if name in schemas:
            found = field_of(name, schemas[name], section=FRAMES)
            shown = Shown(mode, when) if mode in schemas else None
            fields.append(replace(found, title=title, shown=shown, placeholder=placeholder))
    if BUDGET in schemas:
        fields.append(
            replace(
                field_of(BUDGET, schemas[BUDGET], section=FRAMES),
                title="Share of its time",
                help="While it is watched; more is smoother, and slows the run down",
                placeholder=f"{DEFAULT_BUDGET:g}",
            )
        )
    return fields


def warm_start_fields(schemas: Mapping[str, Mapping[str, Any]]) -> list[Field]:
    """Of workers whose trainings can begin with what another one has learned."""
    if WARM_START not in schemas:
        return []
    return [
        Field(
            WARM_START,
            "Begin with",
            Kind.PATH,
            help="The networks of a checkpoint of the same algorithm",
            schema=schemas[WARM_START],
            section=RUN,
            placeholder="random networks",
        )
    ]


def extras_of(worker: WorkerInfo | None) -> Mapping[str, Mapping[str, Any]]:
    """What a worker's config takes beside an algorithm's parameters, by its own schema."""
    if worker is None or worker.capabilities is None:
        return {}
    extras = settings_of(worker).get("extras", {})
    found: Mapping[str, Mapping[str, Any]] = extras.get("properties", {})
    return found


def settings_of(worker: WorkerInfo | None) -> Mapping[str, Mapping[str, Any]]:
    if worker is None or worker.capabilities is None:
        return {}
    found: Mapping[str, Mapping[str, Any]] = worker.capabilities.config_schema.get("properties", {})
    return found


def _document_schema(*path: str) -> Mapping[str, Mapping[str, Any]]:
    found = load_schema("train_run_config")
    for name in path:
        found = found["properties"][name]
    properties: Mapping[str, Mapping[str, Any]] = found["properties"]
    return properties
