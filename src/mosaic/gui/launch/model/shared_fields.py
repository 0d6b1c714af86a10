"""Fields that several forms share: those of any run, and what learners can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mosaic.contracts.learner import LearnerRequest, TrainRequest
from mosaic.contracts.options import OptionSchema, OptionSchemas, of_mode
from mosaic.contracts.run_config import load_schema
from mosaic.gui.forms.model.fields import Field, FieldKind, field_of
from mosaic.wire.answers import Health

TRACKING, RUN = "Tracking", "Run"
WANDB_KEY = "WANDB_API_KEY"
TENSORBOARD_FOLDER = "tensorboard_dir"  # what algorithms call the parameter
NO_GPU = "This machine has no GPU"


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


def tracking_options(parameters: OptionSchemas, extras: OptionSchemas) -> OptionSchemas:
    """What only this window has: a folder with a name of its own, and a key that is not stored."""
    found: dict[str, OptionSchema] = {}
    if TENSORBOARD_FOLDER in parameters:
        found["tensorboard"] = {
            "type": "boolean",
            "default": False,
            "title": "TensorBoard folder",
            "description": "event files go into tensorboard/ of the run's folder",
            "x-section": TRACKING,
            "x-order": 0,
        }
    if "track_wandb" in extras:
        found["wandb_api_key"] = {
            "type": ["string", "null"],
            "default": None,
            "title": "W&B API key",
            "description": "given to this run only, stored nowhere",
            "x-editor": "secret",
            "x-placeholder": "as you are logged in",
            "x-section": TRACKING,
            "x-order": 6,
            "x-shown-when": {"track_wandb": True},
        }
    return found


def request_options(schemas: OptionSchemas, request: type[LearnerRequest]) -> OptionSchemas:
    """What a learner says it can be told in a mode, and what the contract of learners knows.

    Of the latter a worker need not say where they belong.
    """
    found = of_mode(schemas, request.mode)
    if request is TrainRequest:  # what others start from is chosen beside the form
        found |= {name: schemas[name] for name in request.entries.values() if name in schemas}
    return found


def _document_schema(*path: str) -> Mapping[str, Mapping[str, Any]]:
    found = load_schema("train_run_config")
    for name in path:
        found = found["properties"][name]
    properties: Mapping[str, Mapping[str, Any]] = found["properties"]
    return properties
