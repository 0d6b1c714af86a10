"""Which tabs a run has. Pure: what the record says is all that is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.contracts.run_record import RunRecord


def has_charts(record: RunRecord) -> bool:
    """A run that measures something, or may do so yet."""
    return not record.is_over or record.started_at is not None


def has_telemetry(record: RunRecord) -> bool:
    """Every run: where there are no steps, the tab says so, and why."""
    return True


def has_videos(record: RunRecord) -> bool:
    """There are some, or its settings ask for some."""
    return bool(record.manifest.get("videos")) or may_record_videos(record)


def may_record_videos(record: RunRecord) -> bool:
    settings = worker_settings(record)
    extras = object_in(settings, "extras")
    places = (settings, extras, object_in(extras, "algo_params"))
    return any(bool(place.get("capture_video")) for place in places)


def has_tensorboard(record: RunRecord) -> bool:
    return bool(object_in(record.manifest, "tensorboard").get("enabled"))


def has_wandb(record: RunRecord) -> bool:
    return bool(object_in(record.manifest, "wandb").get("enabled"))


def has_trials(record: RunRecord) -> bool:
    return bool(record.manifest.get("optuna_db_path"))


def has_config(record: RunRecord) -> bool:
    return True


def has_environment(record: RunRecord) -> bool:
    return bool(record.env_id)


def worker_settings(record: RunRecord) -> Mapping[str, Any]:
    """The worker's own config, as it was submitted."""
    metadata = object_in(record.config, "metadata")
    return object_in(object_in(metadata, "worker"), "config")


def object_in(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Empty where there is none: configs and manifests may come from anywhere."""
    value = parent.get(name)
    return value if isinstance(value, dict) else {}
