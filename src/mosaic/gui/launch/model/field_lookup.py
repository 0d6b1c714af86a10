"""Which field of a form a setting of a config, or an error of the daemon, belongs to."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from mosaic.errors import GpuError, MosaicError
from mosaic.front.training_config import label
from mosaic.gui.forms.model.fields import sentence
from mosaic.gui.forms.model.form_state import FormState
from mosaic.gui.launch.model.shared_fields import WANDB_KEY
from mosaic.gui.launch.model.starting_point import WARM_START

# Of a run's config: what says which form it is, or is decided when the run starts.
_DROPPED = (
    *("worker", "mode", "policy_path", "checkpoint_path", "run_id", "track"),
    "unset_variables",
)
_RENAMED = {"name": "run_name", "seed": "seeds", "cuda": "use_gpu", "gpu": "use_gpu"}


def field_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """From the settings of a config, or from values that are named as the fields already."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value is None or name in _DROPPED:
            continue
        key = _RENAMED.get(name, name)
        if key == "seeds":
            value = str(value)
        elif key == "command" and isinstance(value, list):
            value = shlex.join(map(str, value))
        elif key == "tensorboard_dir":
            key, value = "tensorboard", True
        found[key] = value
    if "run_name" in found:
        found["run_name"] = _given_name(found)
        if not found["run_name"]:
            del found["run_name"]
    return found


def _given_name(values: Mapping[str, Any]) -> str:
    """Without what is added to every name, or nothing when the whole of it was made up."""
    name = str(values["run_name"]).removesuffix(f"-seed{values.get('seeds')}")
    made_up = label("-".join(str(values.get(part, "")) for part in ("algo", "env_id")))
    return "" if name == made_up else name


# The last part of a path in a document, and the field that decides it.
_FIELDS = {
    "requested": "use_gpu",
    "mandatory": "use_gpu",
    "max_attempts": "retries",
    "seed": "seeds",
    "cuda": "use_gpu",
    "tensorboard_dir": "tensorboard",
    "max_duration_seconds": "max_duration_s",
    WANDB_KEY: "wandb_api_key",
    # Its chip says it as soon as the daemon has been asked, and as long as it is so.
    WARM_START: "",
}
_INDEX = re.compile(r"\[\d+\]$")


def field_of_error(error: MosaicError, form: FormState) -> str:
    """The name of the field, "env_id" for the environment, or empty where there is none."""
    parts = [_INDEX.sub("", part) for part in str(error.details.get("field", "")).split(".")]
    if parts == [""] and isinstance(error, GpuError):
        parts = ["requested"]
    # What is wrong may lie deep inside the value of a field.
    for part in reversed(parts):
        name = _FIELDS.get(part, part)
        if name in form or name == "env_id":
            return name
    return ""


def error_sentence(error: MosaicError) -> str:
    """One sentence what happened, one what to do."""
    message = sentence(error.message).rstrip(".")
    return f"{message}. {sentence(error.hint)}" if error.hint else message
