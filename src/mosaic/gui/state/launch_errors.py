"""Where in a form an error of the daemon belongs."""

from __future__ import annotations

import re

from mosaic.errors import GpuError, MosaicError
from mosaic.gui.state.form_fields import sentence
from mosaic.gui.state.form_state import FormState
from mosaic.gui.state.launch_fields import WANDB_KEY

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
