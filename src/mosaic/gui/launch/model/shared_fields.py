"""Fields that several forms share: the run itself, tracking, recording and frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mosaic.contracts.learner import Mode
from mosaic.contracts.options import OptionSchemas, of_mode, of_section
from mosaic.contracts.run_config import load_schema
from mosaic.fastlane.layout import DEFAULT_SLOTS
from mosaic.fastlane.settings import DEFAULT_BUDGET
from mosaic.gui.forms.model.fields import Choice, Field, FieldKind, ShownWhen, field_of
from mosaic.wire.answers import Health

HYPERPARAMETERS, RECORDING, TRACKING = "Hyperparameters", "Recording", "Tracking"
FRAMES, RUN = "Frames", "Run"
WANDB_KEY = "WANDB_API_KEY"
BUDGET = "fastlane_budget"
NO_GPU = "This machine has no GPU"
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
        FieldKind.BOOLEAN,
        default=False,
        help=NO_GPU if is_missing else "Waits until one is free",
        section=section,
        disabled_reason=NO_GPU if is_missing else "",
    )


def name_field() -> Field:
    return Field(
        "run_name",
        "Run name",
        FieldKind.TEXT,
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
    return [field_of(name, schema) for name, schema in of_section(parameters, RECORDING).items()]


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
                FieldKind.BOOLEAN,
                default=False,
                help="Event files go into tensorboard/ of the run's folder",
                section=TRACKING,
            )
        )
    if "track_wandb" in extras:
        tracked = ShownWhen("track_wandb", True)
        # Nothing said means no here, so a box to tick is enough.
        found = field_of("track_wandb", extras["track_wandb"], section=TRACKING)
        fields.append(
            replace(found, kind=FieldKind.BOOLEAN, default=False, choices=(), placeholder="")
        )
        wandb = of_section(parameters, TRACKING)
        if "wandb_email" in extras:
            wandb["wandb_email"] = extras["wandb_email"]
        fields += [
            replace(field_of(name, schema, section=TRACKING), shown=tracked)
            for name, schema in wandb.items()
        ]
        fields.append(
            Field(
                "wandb_api_key",
                "W&B API key",
                FieldKind.SECRET,
                help="Given to this run only, stored nowhere",
                section=TRACKING,
                shown=tracked,
                placeholder="as you are logged in",
            )
        )
    if "notes" in extras:
        fields.append(field_of("notes", extras["notes"], section=TRACKING))
    return fields


def frame_fields(schemas: Mapping[str, Mapping[str, Any]], mode: str, limit: str) -> list[Field]:
    """Of the live view; `mode` and `limit` are what the worker calls them."""
    fields = []
    if mode in schemas:
        fields.append(
            Field(
                mode,
                "Live frames",
                FieldKind.CHOICE,
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
            shown = ShownWhen(mode, when) if mode in schemas else None
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


def worker_fields(
    schemas: OptionSchemas, mode: Mode, *, known: Iterable[str] = (), section: str = ""
) -> list[Field]:
    """What a worker says it can be told in this mode, and what the contract of learners knows.

    `known`: the names of the latter; a worker that has them need not say where they belong.
    """
    found = of_mode(schemas, mode)
    found |= {name: schemas[name] for name in known if name in schemas}
    return [field_of(name, schema, section=section) for name, schema in found.items()]


def _document_schema(*path: str) -> Mapping[str, Mapping[str, Any]]:
    found = load_schema("train_run_config")
    for name in path:
        found = found["properties"][name]
    properties: Mapping[str, Mapping[str, Any]] = found["properties"]
    return properties
